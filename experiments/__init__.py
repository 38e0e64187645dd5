"""The papers' experiments and the benchmarks, one folder each; not part of the package."""
