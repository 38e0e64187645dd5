"""Motif finding (Yu & Joachims, ICML 2009, section 5.1)."""
