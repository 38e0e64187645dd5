"""Structural support vector machines with hidden variables.

The command line (``lssvm-learn``, ``lssvm-classify``, ``lssvm``) is built from the
functions of :mod:`lssvm.training.session`, which are the Python interface as well.
"""

__version__ = "0.1.0"
