"""What a call that is refused says."""

import pytest

from lssvm.errors import DataError


def told(function, *arguments, kind=DataError, **options):
    """The one line of the error (a DataError unless said otherwise) that the call raises."""
    with pytest.raises(kind) as caught:
        function(*arguments, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message
