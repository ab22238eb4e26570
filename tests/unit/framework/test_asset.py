"""Files that belong to a saved object."""

from __future__ import annotations

import pytest

import tfx as tf
from tfx.core.errors import NotFoundError


def test_asset(tmp_path):
    path = tmp_path / "vocabulary.txt"
    path.write_text("a b c")
    for given in (path, str(path)):
        asset = tf.saved_model.Asset(given)
        assert asset.path == path
        assert asset.asset_path.numpy() == str(path).encode()
        assert repr(asset) == f"Asset({str(path)!r})"


def test_missing_files_are_named(tmp_path):
    for wrong in (tmp_path / "missing", tmp_path):
        with pytest.raises(NotFoundError, match=rf"{wrong.name}' does not exist"):
            tf.saved_model.Asset(wrong)
