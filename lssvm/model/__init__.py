"""The model: weights, settings, record, and the file that holds them."""

from lssvm.model.model import Model

__all__ = ["Model"]
