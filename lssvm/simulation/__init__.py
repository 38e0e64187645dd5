"""Simulated data for each application, with the best possible error where it is known."""
