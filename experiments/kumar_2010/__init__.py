"""Kumar, Packer & Koller, NIPS 2010: motifs of protein-binding microarrays."""
