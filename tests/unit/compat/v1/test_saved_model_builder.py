"""``SavedModelBuilder`` and ``loader.load``: several signatures over a session's variables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tfx as tf

v1 = tf.compat.v1
saved = v1.saved_model


def test_signatures_there_and_back(tmp_path: Path) -> None:
    folder = str(tmp_path / "model")
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        w = v1.get_variable("w", initializer=[[2.0], [3.0]])
        y = x @ w
        session.run(w.assign([[1.0], [5.0]]))
        builder = saved.builder.SavedModelBuilder(folder)
        plain = saved.signature_def_utils.build_signature_def(
            inputs={"rows": saved.utils.build_tensor_info(x)},
            outputs={"sums": saved.utils.build_tensor_info(y)},
            method_name=saved.signature_constants.PREDICT_METHOD_NAME,
        )
        assert saved.signature_def_utils.is_valid_signature(plain)
        twice = saved.predict_signature_def({"rows": x}, {"twice": y * 2.0})
        builder.add_meta_graph_and_variables(
            session,
            [saved.tag_constants.SERVING],
            {saved.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: plain, "twice": twice},
        )
        assert builder.save() == folder.encode()
        with pytest.raises(AssertionError, match="added already"):
            builder.add_meta_graph_and_variables(session, ["serve"], {"twice": twice})
    rows = np.array([[1.0, 2.0]], np.float32)
    with v1.Graph().as_default() as graph, v1.Session() as session:
        loaded = saved.loader.load(session, ["serve"], folder)
        for name, key, expected in (("serving_default", "sums", 11.0), ("twice", "twice", 22.0)):
            part = loaded.signature_def[name]
            given = saved.get_tensor_from_tensor_info(part.inputs["rows"], graph)
            assert session.run(part.outputs[key].name, {given: rows}).tolist() == [[expected]]
    assert saved.maybe_saved_model_directory(folder)
    function = saved.load_v2(folder).signatures["twice"]
    assert function(rows=tf.constant(rows))["twice"].numpy().tolist() == [[22.0]]


def test_refusals(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AssertionError, match="isn't empty"):
        saved.Builder(str(tmp_path))
    with pytest.raises(ValueError, match="cannot be None or empty"):
        saved.predict_signature_def({}, {})
    with pytest.raises(RuntimeError, match="tensor of a graph"):
        saved.build_tensor_info(tf.constant(1.0))
    with pytest.raises(AssertionError, match="before save"):
        saved.Builder(str(tmp_path / "new")).save()
    assert not saved.is_valid_signature(saved.build_signature_def(method_name="other"))
