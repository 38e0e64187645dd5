"""Parsing with a weighted context-free grammar."""
