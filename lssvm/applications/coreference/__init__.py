"""Noun-phrase coreference (Yu & Joachims, ICML 2009, section 5.2) and its baseline."""
