"""File formats, one module each, usable alone."""
