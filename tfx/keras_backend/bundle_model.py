"""A Keras model inside of its bundle, and the way back from the bundle to the model.

A bundle has the weights and the graphs. Beside them lies what Keras needs to make the model again:
the files of a ``.keras`` archive without its weights.
"""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

from keras.src.saving import saving_lib

import tfx as tf

# The attribute of a loaded bundle that has the archive.
ARCHIVE = "keras_model"
_NAME, _ASSETS = "name_in_bundle", "assets"


def write_archive(model: Any, name: str, folder: str) -> Path | None:
    """Write what makes a model again.

    Args:
        model: The model.
        name: The attribute of the bundle's root that the model is.
        folder: Where to write.

    Returns:
        The file; None for a model that has no ``get_config``.
    """
    try:
        config, metadata = saving_lib._serialize_model_as_json(model)
    except (NotImplementedError, TypeError):
        return None
    path = Path(folder, f"{ARCHIVE}.zip")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", json.dumps({**json.loads(metadata), _NAME: name}))
        archive.writestr("config.json", config)
        store = saving_lib.DiskIOStore(_ASSETS, archive=archive, mode="w")
        saving_lib._save_state(model, None, store, "", set())
        store.close()
    return path


def load_model(
    path: str | os.PathLike[str],
    custom_objects: Any = None,
    compile: bool = True,
    safe_mode: bool = True,
) -> Any:
    """The model of a bundle that ``model.export`` wrote, with the state it had there.

    Args:
        path: The bundle's folder.
        custom_objects: Classes and functions by name.
        compile: Compile the model as it was, with the state of the optimizer.
        safe_mode: Refuse code, as Keras does for ``.keras`` files.

    Raises:
        ValueError: the bundle has no Keras model, or asks for code in safe mode.
    """
    asset = getattr(tf.saved_model.load(path), ARCHIVE, None)
    if asset is None:
        raise ValueError(
            f"{os.fspath(path)!r} is a bundle without a Keras model: it was not written by "
            "model.export, or the model has no get_config(). Load it with tf.saved_model.load, or "
            "as a layer with keras.layers.TFSMLayer."
        )
    with zipfile.ZipFile(asset.path) as archive:
        name = json.loads(archive.read("metadata.json"))[_NAME]
        config = archive.read("config.json").decode()
        model = saving_lib._model_from_config(config, custom_objects, compile, safe_mode)
        store = saving_lib.DiskIOStore(_ASSETS, archive=archive, mode="r")
        saving_lib._load_state(model, None, store, "")
        store.close()
    if getattr(model, "optimizer", None) is not None:
        model.optimizer.build(model.trainable_variables)
    if not model.variables:
        return model
    status = tf.train.Checkpoint(**{name: model}).read(path).assert_existing_objects_matched()
    status.expect_partial()  # metrics wait until they are made; what is left out stays in the file
    return model
