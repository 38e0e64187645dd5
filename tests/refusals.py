"""What a call that is refused says."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from lssvm.cli import learn
from lssvm.errors import DataError


def told(function, *arguments, kind=DataError, **options):
    """The one line of the error (a DataError unless said otherwise) that the call raises."""
    with pytest.raises(kind) as caught:
        function(*arguments, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


def check_broken_training_file(content):
    """Training on train.txt with these bytes, by c.yaml, ends in one line and writes no model."""
    Path("train.txt").write_bytes(content)
    result = CliRunner().invoke(learn, ["c.yaml", "model"])
    assert result.exit_code == 2, result.exception
    (message,) = result.stderr.splitlines()
    assert message.startswith("error: train.txt:")
    assert "; expected " in message
    assert not Path("model").exists()
