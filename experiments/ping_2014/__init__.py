"""Ping, Liu & Ihler, ICML 2014: marginal structural SVMs."""
