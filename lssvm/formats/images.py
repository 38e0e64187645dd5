"""Images as arrays. Pillow, which the extra ``image`` brings, is imported where it is needed.

Only the formats in FORMATS are read, recognised by their content and not by their names: Pillow
knows many others, and passes some of them to other programs.
"""

import contextlib
import io
import logging
import os
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from lssvm.errors import DataError, MissingExtraError
from lssvm.formats import npy_arrays
from lssvm.formats.limit import DEFAULT, Limit

MOST_PIXELS = 1_000_000
LOSSLESS = ("PNG", "BMP", "GIF", "PPM", "TIFF")
FORMATS = (*LOSSLESS, "JPEG", "WEBP")
_SEVERAL = "MPO"  # what Pillow calls a JPEG file with smaller copies behind the image
_WHITE = {"1": 1, "L": 255, "RGB": 255, "I;16": 65535, "I;16B": 65535}  # of modes read as they are
_WHITE_PPM = {"I": 65535}  # grey values of more than 8 bits, which Pillow scales so
_CONVERTED = {"P": "RGB", "PA": "RGB", "LA": "L", "RGBA": "RGB", "YCbCr": "RGB", "CMYK": "RGB"}
_COLOURED = {"1", "L", "LA", "P", "PA", "RGB", "RGBA"}


def read_channels(path: str | Path, limit: Limit = DEFAULT) -> np.ndarray:
    """The channels of an image, (height, width, 1 or 3) float64 from 0 to 1; alpha is dropped.

    An array ``.npy`` of shape (height, width) or (height, width, m) is returned unchanged. Raises
    DataError, and MissingExtraError without Pillow.
    """
    if str(path).endswith(npy_arrays.SUFFIX):
        return _array(path, limit)
    with _opened(path, limit) as image:
        white = _WHITE | _WHITE_PPM if image.format == "PPM" else _WHITE
        if image.mode not in {*white, *_CONVERTED}:
            message = f"has pixels of mode {image.mode!r}; expected grey values or colours"
            raise DataError(path, None, message)
        mode = _CONVERTED.get(image.mode, image.mode)
        pixels = _pixels(path, image, mode).astype(np.float64) / white[mode]
    return pixels if pixels.ndim == 3 else pixels[:, :, None]


def read_colours(path: str | Path, limit: Limit = DEFAULT) -> np.ndarray:
    """The colours of a label image, (height, width, 3) uint8.

    Those of a palette are looked up, a grey value is a colour of three equal numbers. Raises
    DataError if the image is not lossless, or not opaque; MissingExtraError without Pillow.
    """
    with _opened(path, limit) as image:
        if image.format not in LOSSLESS:
            kind = "JPEG" if image.format == _SEVERAL else image.format
            message = f"is {kind}, which changes colours; expected {', '.join(LOSSLESS)}"
            raise DataError(path, None, message)
        if image.mode not in _COLOURED:
            message = f"has pixels of mode {image.mode!r}; expected 8 bits, or a palette"
            raise DataError(path, None, message)
        pixels = _pixels(path, image, "RGBA")
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
    logger = logging.getLogger("PIL")
    if not logger.handlers:  # what it logs is not for standard error
        logger.addHandler(logging.NullHandler())
    return PIL


@contextmanager
def _opened(path: str | Path, limit: Limit) -> Iterator[Any]:
    """An image whose header was read and whose size is accepted. Raises DataError."""
    pillow = require_pillow("reading images")
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise DataError(path, None, "is not a regular file; expected an image")
        file = open(path, "rb")  # noqa: SIM115 (closed below)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    with file:
        limit.check(path, found.st_size)
        image, several = _identified(path, pillow.Image, file)
        if image.width * image.height > MOST_PIXELS:
            raise _oversized(path, f"{image.width} x {image.height}")
        if several and image.format != _SEVERAL:
            raise DataError(path, None, "contains several images; expected one image per file")
        yield image


def _identified(path: str | Path, Image: Any, file: Any) -> tuple[Any, bool]:
    """The image of a file, before its pixels are read, and whether others follow it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            image = Image.open(file, formats=FORMATS)
            return image, bool(getattr(image, "is_animated", False))
        except (Image.DecompressionBombError, Image.DecompressionBombWarning):
            raise _oversized(path, "a great many") from None
        except Image.UnidentifiedImageError:
            message = f"is not an image in a known format; expected {', '.join(FORMATS)}"
            raise DataError(path, None, message) from None
        except Exception as error:  # of any kind: the decoders of Pillow do not specify them
            raise _unreadable(path, error) from None


def _pixels(path: str | Path, image: Any, mode: str) -> np.ndarray:
    """The pixels in a mode of Pillow's, uint8 but for modes of 16 bits."""
    with warnings.catch_warnings(), _without_stderr(image.format == "TIFF"):
        warnings.simplefilter("ignore")
        try:
            image.load()
            return np.asarray(image if image.mode == mode else image.convert(mode))
        except Exception as error:  # as above
            raise _unreadable(path, error) from None


@contextmanager
def _without_stderr(wanted: bool) -> Iterator[None]:
    """Drop what libraries write to standard error: libtiff writes its errors there."""
    with contextlib.ExitStack() as stack:
        if wanted:
            with contextlib.suppress(OSError):  # it is closed
                kept = os.dup(2)
                stack.callback(os.close, kept)
                with open(os.devnull, "wb") as nowhere:
                    os.dup2(nowhere.fileno(), 2)
                stack.callback(os.dup2, kept, 2)
        yield


def _array(path: str | Path, limit: Limit) -> np.ndarray:
    array = npy_arrays.read_array(path, limit)
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
    return DataError(path, None, "is cut short or damaged; expected an image")
