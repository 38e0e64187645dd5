"""Alignment of sequences."""
