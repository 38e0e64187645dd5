"""Yu & Joachims, ICML 2009: latent structural SVMs."""
