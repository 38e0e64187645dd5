"""Simulated data, control methods and one module for each table of the papers."""
