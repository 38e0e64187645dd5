"""Pairwise Markov random fields."""
