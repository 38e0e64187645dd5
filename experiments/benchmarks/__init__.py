"""Benchmarks of solvers, kernels and peers."""
