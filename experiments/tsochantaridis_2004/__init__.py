"""Tsochantaridis et al., ICML 2004: fully observed structural SVMs."""
