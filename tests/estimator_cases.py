"""What tests of estimators share: the command line's model for the same settings and data."""

import json
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from lssvm.cli import learn
from lssvm.model.container import read_container


def learnt(folder, files, **sections):
    """The header and the arrays of the model that ``lssvm-learn`` makes of files.

    files : content by name, the first being the training data; sections : the configuration
    """
    for name, content in files.items():
        (Path(folder) / name).write_text(content, encoding="utf-8")
    config = Path(folder) / "config.yaml"
    train = sections.pop("train", next(iter(files)))
    config.write_text(json.dumps({**sections, "data": {"train": train}}), encoding="utf-8")
    model = Path(folder) / "of-the-command.model"
    done = CliRunner().invoke(learn, [str(config), str(model), "-q"])
    assert done.exit_code == 0, done.stderr
    return read_container(model, "lssvm-model")


def check_same_model(estimator, folder, files, **sections):
    """The estimator's model and the command's have the same arrays, byte for byte.

    Headers differ in ``data`` alone, which says where the examples came from.
    """
    header, arrays = learnt(folder, files, **sections)
    path = Path(folder) / "of-the-estimator.model"
    estimator.model_.save(path)
    own_header, own_arrays = read_container(path, "lssvm-model")
    assert list(own_arrays) == list(arrays)
    for name, array in arrays.items():
        assert own_arrays[name].dtype == array.dtype
        assert own_arrays[name].tobytes() == array.tobytes(), name
    assert np.any(arrays["w"])
    assert header["config"].pop("data") != own_header["config"].pop("data")
    assert own_header == header
