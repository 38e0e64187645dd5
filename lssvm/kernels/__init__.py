"""The compiled kernels are installed here; their sources are in cython_ext/."""
