"""Reading single variables by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.train.objects import module, one_of_each_dtype, v
from tfx import saved_model
from tfx.core import dtypes
from tfx.core.errors import BundleError, NotFoundError
from tfx.train import (
    Checkpoint,
    CheckpointOptions,
    list_variables,
    load_checkpoint,
    load_variable,
)


@pytest.fixture
def path(tmp_path: Path) -> str:
    model = module(w=v([[1.0, 2.0]]), s=v(["a", "b"]), n=v(3))
    return Checkpoint(model=model).save(tmp_path / "c")


def test_list_variables(path: str, tmp_path: Path) -> None:
    expected = [("model/n", []), ("model/s", [2]), ("model/w", [1, 2]), ("save_counter", [])]
    for where in (path, tmp_path, str(tmp_path), path + ".safetensors"):
        assert list_variables(where) == expected


def test_maps(path: str) -> None:
    with load_checkpoint(path) as reader:
        assert reader.get_variable_to_shape_map()["model/w"] == [1, 2]
        assert reader.get_variable_to_dtype_map() == {
            "model/n": dtypes.int32,
            "model/s": dtypes.string,
            "model/w": dtypes.float32,
            "save_counter": dtypes.int64,
        }
        assert b"model/w (float32) [1, 2]\n" in reader.debug_string()


def test_maps_by_names_of_tensorflow(path: str) -> None:
    with load_checkpoint(path) as reader:
        shapes, kinds = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    ending = "/.ATTRIBUTES/VARIABLE_VALUE"
    for name in ("model/w", "model/w" + ending):
        assert name in shapes
        assert shapes[name] == shapes.get(name) == [1, 2]
        assert kinds[name] is dtypes.float32
    assert list(shapes) == ["model/n", "model/s", "model/w", "save_counter"]
    for name in ("model/x", "model/x" + ending):
        assert name not in shapes
        assert shapes.get(name) is None
        with pytest.raises(KeyError, match="model/x"):
            shapes[name]
        assert "4 variables" in repr(reader)


def test_values_are_new_arrays_like_those_of_variables(tmp_path: Path) -> None:
    values = one_of_each_dtype()
    with load_checkpoint(Checkpoint(v=values).write(tmp_path / "c")) as reader:
        for name, x in values.items():
            got, expected = reader.get_tensor(f"v/{name}"), x.numpy()
            assert type(got) is type(expected)
            np.testing.assert_array_equal(np.asarray(got), np.asarray(expected), err_msg=name)
            if isinstance(got, np.ndarray):
                assert got.flags.writeable


def test_load_variable(path: str) -> None:
    np.testing.assert_array_equal(load_variable(path, "model/w"), [[1.0, 2.0]])
    assert load_variable(path, "model/n") == 3


def test_names_of_tensorflow_programs(path: str) -> None:
    name = "model/n/.ATTRIBUTES/VARIABLE_VALUE"
    assert load_variable(path, name) == 3
    assert load_checkpoint(path).has_tensor(name)


def test_unknown_variables_name_the_nearest(path: str) -> None:
    with load_checkpoint(path) as reader:
        assert not reader.has_tensor("model/ww")
        with pytest.raises(NotFoundError, match=r"c-1.safetensors: .*mean 'model/w'"):
            reader.get_tensor("model/ww")


def test_a_folder_without_checkpoints(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no checkpoint was saved in this folder"):
        load_checkpoint(tmp_path)


def test_a_closed_reader(path: str) -> None:
    reader = load_checkpoint(path)
    reader.close()
    assert reader.has_tensor("model/w")
    with pytest.raises(BundleError, match="closed"):
        reader.get_tensor("model/w")


def test_shards(tmp_path: Path) -> None:
    path = Checkpoint(x=v([1.0, 2.0]), y=v([3.0, 4.0])).write(
        tmp_path / "c", CheckpointOptions(max_shard_bytes=8)
    )
    np.testing.assert_array_equal(load_variable(path, "y"), [3.0, 4.0])
    assert list_variables(path + ".safetensors.index.json") == [("x", [2]), ("y", [2])]
    with load_checkpoint(path) as reader:
        reader.verify()


def test_the_variables_of_a_bundle(tmp_path: Path) -> None:
    model = module(w=v([1.0, 2.0]), parts=[v(3.0)])
    saved_model.save(model, tmp_path / "b")
    assert list_variables(tmp_path / "b") == [("parts/0", []), ("w", [2])]
    other = module(w=v([0.0, 0.0]), parts=[v(0.0)])
    Checkpoint(other).read(tmp_path / "b").assert_consumed()
    np.testing.assert_array_equal(other.w.numpy(), [1.0, 2.0])
    path = tmp_path / "b" / "variables" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\1")
    with pytest.raises(BundleError, match="SHA-256"):
        Checkpoint(other).read(tmp_path / "b")
