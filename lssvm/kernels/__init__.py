"""The compiled kernels land here; their sources are in cython_ext/."""
