"""Images as arrays. Pillow, which the extra ``image`` brings, is imported where it is needed."""

import io
import struct
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from lssvm.errors import DataError, MissingExtraError

MOST_PIXELS = 1_000_000
LOSSLESS = ("PNG", "BMP", "GIF", "PPM", "TIFF")
_WHITE = {"1": 1, "L": 255, "RGB": 255, "I;16": 65535, "I;16B": 65535}  # of modes read as they are
_CONVERTED = {"P": "RGB", "PA": "RGB", "LA": "L", "RGBA": "RGB", "YCbCr": "RGB", "CMYK": "RGB"}
_COLOURED = {"1", "L", "LA", "P", "PA", "RGB", "RGBA"}
_BROKEN = (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error)


def read_channels(path: str | Path) -> np.ndarray:
    """The channels of an image, (height, width, 1 or 3) float64 from 0 to 1; alpha is dropped.

    Or what an array ``.npy`` of shape (height, width) or (height, width, m) holds, as it is.
    Raises DataError, MissingExtraError without Pillow.
    """
    if str(path).endswith(".npy"):
        return _array(path)
    with _opened(path) as image:
        _load(path, image)
        if image.mode in _CONVERTED:
            image = image.convert(_CONVERTED[image.mode])
        if image.mode not in _WHITE:
            message = f"has pixels of mode {image.mode!r}; expected grey values or colours"
            raise DataError(path, None, message)
        pixels = np.asarray(image).astype(np.float64) / _WHITE[image.mode]
    return pixels if pixels.ndim == 3 else pixels[:, :, None]


def read_colours(path: str | Path) -> np.ndarray:
    """The colours of a label image, (height, width, 3) uint8.

    Those of a palette are looked up, a grey value is a colour of three equal numbers. Raises
    DataError if the image is not lossless, or not opaque; MissingExtraError without Pillow.
    """
    with _opened(path) as image:
        if image.format not in LOSSLESS:
            message = f"is {image.format}, which changes colours; expected {', '.join(LOSSLESS)}"
            raise DataError(path, None, message)
        if image.mode not in _COLOURED:
            message = f"has pixels of mode {image.mode!r}; expected 8 bits, or a palette"
            raise DataError(path, None, message)
        _load(path, image)
        pixels = np.asarray(image.convert("RGBA"))
    clear = np.argwhere(pixels[:, :, 3] < 255)
    if len(clear):
        y, x = clear[0]
        raise DataError(path, None, f"pixel {x},{y} is transparent; expected opaque colours")
    return pixels[:, :, :3]


def png(colours: np.ndarray) -> bytes:
    """The PNG file of colours (height, width, 3) uint8. Raises MissingExtraError without Pillow."""
    file = io.BytesIO()
    require_pillow("writing images").Image.fromarray(colours).save(file, "PNG")
    return file.getvalue()


def require_pillow(purpose: str) -> Any:
    """Pillow, its module ``Image`` imported. Raises MissingExtraError, with what it is for."""
    try:
        import PIL.Image
    except ImportError:
        raise MissingExtraError(purpose, "Pillow", "image") from None
    return PIL


def _opened(path: str | Path) -> Any:
    """An image whose header was read and whose size will do. Raises DataError."""
    pillow = require_pillow("reading images")
    Image, UnidentifiedImageError = pillow.Image, pillow.UnidentifiedImageError
    too_large = (Image.DecompressionBombError, Image.DecompressionBombWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            image = Image.open(path)
        except too_large:
            raise _oversized(path, "a great many") from None
        except UnidentifiedImageError:
            raise DataError(path, None, "is no image that Pillow knows; expected PNG") from None
        except _BROKEN as error:
            raise _unreadable(path, error) from None
    if image.width * image.height > MOST_PIXELS:
        image.close()
        raise _oversized(path, f"{image.width} x {image.height}")
    return image


def _load(path: str | Path, image: Any) -> None:
    try:
        image.load()
    except _BROKEN as error:
        raise _unreadable(path, error) from None


def _array(path: str | Path) -> np.ndarray:
    try:
        with open(path, "rb") as file:
            array = np.lib.format.read_array(file, allow_pickle=False)
    except _BROKEN as error:
        raise _unreadable(path, error) from None
    if array.dtype.kind not in "fiub":
        raise DataError(path, None, f"holds {array.dtype}; expected numbers")
    if array.ndim not in (2, 3) or not array.size:
        message = f"has shape {array.shape}; expected (height, width) or (height, width, features)"
        raise DataError(path, None, message)
    if array.shape[0] * array.shape[1] > MOST_PIXELS:
        raise _oversized(path, f"{array.shape[1]} x {array.shape[0]}")
    found = array.astype(np.float64).reshape(*array.shape[:2], -1)
    if not np.all(np.isfinite(found)):
        y, x = np.argwhere(~np.isfinite(found))[0, :2]
        raise DataError(path, None, f"a feature of pixel {x},{y} is not finite; expected numbers")
    return found


def _oversized(path: str | Path, size: str) -> DataError:
    message = f"has {size} pixels; expected at most {MOST_PIXELS:,d}, or features of patches"
    return DataError(path, None, message)


def _unreadable(path: str | Path, error: Exception) -> DataError:
    if isinstance(error, OSError) and error.strerror:
        return DataError(path, None, f"cannot be read: {error.strerror}; expected an image")
    kind = "an array .npy" if str(path).endswith(".npy") else "an image"
    return DataError(path, None, f"is cut short or damaged; expected {kind}")
