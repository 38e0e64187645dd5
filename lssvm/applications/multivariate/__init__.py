"""Losses over a whole data set (multivariate performance measures, Joachims, ICML 2005)."""
