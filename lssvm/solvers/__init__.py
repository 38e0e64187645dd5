"""Solvers of the convex problems of CCCP; they know planes and no application."""
