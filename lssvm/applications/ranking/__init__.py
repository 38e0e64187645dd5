"""Ranking for precision at k (Yu & Joachims, ICML 2009, section 5.3)."""
