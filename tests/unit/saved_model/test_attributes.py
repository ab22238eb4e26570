"""What comes back of an object's attributes."""

from __future__ import annotations

import collections
from typing import Any, NamedTuple

import numpy as np
import pytest

import tfx as tf
from tests.unit.saved_model.models import Dense, saved

Point = collections.namedtuple("Point", "x y")  # noqa: PYI024


class Typed(NamedTuple):
    a: Any
    b: Any = None


def reloaded_attribute(value: Any, folder: Any) -> Any:
    module = tf.Module()
    module.value = value
    return saved(module, folder / "m").value


@pytest.mark.parametrize(
    "value",
    [
        None, True, False, 0, -7, 1 << 80, -(1 << 63), 2.5, float("inf"), -0.0, 1 + 2j, "", "text",
        "ü\n", b"", b"\xff\0", tf.float32, tf.bfloat16, tf.TensorShape([1, None, 3]),
        tf.TensorShape(None), tf.TensorSpec([None, 2], tf.int8, name="x"),
        [], (), {}, [1, [2, (3, {"a": None})]], (1,), {"a": 1, "b": [2]}, {1: "a", 2.5: "b"},
        {True: 1, b"k": 2, None: 3, "": 4}, {"1": "text", 1: "number"},
    ],
    ids=repr,
)  # fmt: skip
def test_plain_values_come_back_as_they_were(value: Any, tmp_path: Any) -> None:
    back = reloaded_attribute(value, tmp_path)
    assert back == value
    assert type(back) is type(value)
    assert repr(back) == repr(value)


def test_nan_comes_back(tmp_path: Any) -> None:
    assert np.isnan(reloaded_attribute(float("nan"), tmp_path))


def test_numpy_scalars_come_back_as_python_ones(tmp_path: Any) -> None:
    value = [np.float32(0.5), np.int64(3), np.bool_(True)]
    assert reloaded_attribute(value, tmp_path) == [0.5, 3, True]


def test_named_tuples_come_back_with_their_fields(tmp_path: Any) -> None:
    back = reloaded_attribute({"p": Point(1, [2]), "t": Typed((3,))}, tmp_path)
    assert back["p"] == (1, [2])
    assert back["p"]._fields == ("x", "y")
    assert type(back["p"]).__name__ == "Point"
    assert (back["t"].a, back["t"].b) == ((3,), None)


def test_containers_of_variables_come_back(tmp_path: Any) -> None:
    module = tf.Module()
    module.items = [1, tf.Variable(1.0), (tf.Variable(2.0), Point("p", tf.Variable(3.0)))]
    module.table = {"a": tf.Variable(4.0), 5: {"b": [tf.Variable(6.0)]}, 2.5: "t", b"k": True}
    back = saved(module, tmp_path / "m")
    assert back.items[0] == 1
    assert float(back.items[1]) == 1.0
    assert isinstance(back.items[2], tuple)
    assert float(back.items[2][0]) == 2.0
    assert (back.items[2][1].x, float(back.items[2][1].y)) == ("p", 3.0)
    assert float(back.table["a"]) == 4.0
    assert float(back.table[5]["b"][0]) == 6.0
    assert (back.table[2.5], back.table[b"k"]) == ("t", True)
    assert list(back.table) == list(module.table)


def test_nested_modules_come_back_in_lists_and_dicts(tmp_path: Any) -> None:
    module = tf.Module()
    module.layers = [Dense(2, 3), Dense(3, 1, seed=4)]
    module.by_name = {"head": Dense(1, 2, seed=8)}
    module.layers[0].units = 3
    back = saved(module, tmp_path / "m")
    assert back.layers[0].units == 3
    for a, b in zip(module.variables, back.variables, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(back.by_name["head"].w, module.by_name["head"].w)


def test_shared_objects_stay_shared(tmp_path: Any) -> None:
    module = tf.Module()
    module.a = module.b = Dense(2, 2)
    module.v = module.a.w
    module.items = module.same = [1, 2]
    module.states = [module.v, module.v]
    module.pair = (module.states, module.states)
    back = saved(module, tmp_path / "m")
    assert back.a is back.b
    assert back.v is back.a.w
    assert back.items is back.same
    assert back.states[0] is back.states[1] is back.v
    assert back.pair[0] is back.pair[1] is back.states
    assert len(back.variables) == 2


def test_cycles_come_back(tmp_path: Any) -> None:
    module, child = tf.Module(), tf.Module()
    module.child, child.parent = child, module
    module.me = module
    module.items = [module]
    module.items.append(module.items)
    module.pair = (module, [child])
    back = saved(module, tmp_path / "m")
    assert back.me is back
    assert back.child.parent is back
    assert back.items[0] is back
    assert back.items[1] is back.items
    assert back.pair[0] is back
    assert back.pair[1][0] is back.child


def test_plain_containers_that_hold_themselves_come_back(tmp_path: Any) -> None:
    module = tf.Module()
    module.items = [1]
    module.items.append(module.items)
    back = saved(module, tmp_path / "m")
    assert back.items[0] == 1
    assert back.items[1] is back.items


def test_data_nested_beyond_a_records_depth_comes_back(tmp_path: Any) -> None:
    value: list[Any] = []
    for _ in range(100):
        value = [value]
    back = reloaded_attribute(value, tmp_path)
    depth = 0
    while back:
        (back,), depth = back, depth + 1
    assert depth == 100


def test_tensors_come_back_and_equal_ones_are_stored_once(tmp_path: Any) -> None:
    module = tf.Module()
    module.a = tf.constant(np.arange(5000.0))
    module.b = tf.constant(np.arange(5000.0))
    module.c = module.a
    module.text = tf.constant(["x", "yz"])
    module.empty = tf.constant(np.zeros((0, 3), np.int16))
    back = saved(module, tmp_path / "m")
    for name in ("a", "b", "c", "text", "empty"):
        np.testing.assert_array_equal(getattr(back, name), getattr(module, name))
        assert getattr(back, name).dtype is getattr(module, name).dtype
    assert back.c is back.a
    size = (tmp_path / "m" / "variables" / "model.safetensors").stat().st_size
    assert size < 1.2 * 40_000


def test_what_cannot_be_saved_is_left_out(tmp_path: Any) -> None:
    module = tf.Module()
    module.array = np.zeros(3)
    module.function = lambda x: x
    module.file = open(__file__, encoding="utf-8")  # noqa: SIM115
    module.opaque = [object()]
    module.by_object = {object(): 1}
    module._self_hidden = 3
    module.__doc__ = "A text that means something to Python."
    module.kept = 1
    back = saved(module, tmp_path / "m")
    module.file.close()
    assert set(vars(back)) == {"_name", "kept", "signatures"}


def test_a_note_stands_for_what_cannot_be_saved_among_state(tmp_path: Any) -> None:
    module = tf.Module()
    module.items = [tf.Variable(1.0), len, 3]
    back = saved(module, tmp_path / "m")
    assert float(back.items[0]) == 1.0
    assert "builtin_function" in back.items[1].type_name
    assert back.items[2] == 3


def test_plain_objects_are_saved_if_state_is_behind_them(tmp_path: Any) -> None:
    class Plain:
        def __init__(self) -> None:
            self.v = tf.Variable(1.0)
            self.name = "a name"
            self.variables = 7

        @tf.function
        def double(self, x: Any) -> Any:
            return x * 2.0 * self.v

    module = tf.Module()
    module.plain = Plain()
    module.plain.double(tf.constant(1.0))
    back = saved(module, tmp_path / "m")
    assert float(back.plain.v) == 1.0
    assert (back.plain.name, back.plain.variables) == ("a name", 7)
    assert float(back.plain.double(tf.constant(4.0))) == 8.0
    root = saved(Plain(), tmp_path / "p")
    assert float(root.v) == 1.0


def test_properties_of_modules_work_on_loaded_objects(tmp_path: Any) -> None:
    layer = Dense(2, 3)
    layer.frozen = tf.Variable(0.0, trainable=False)
    back = saved(layer, tmp_path / "m")
    assert isinstance(back, tf.Module)
    assert back.name == layer.name == "dense"
    assert [v.name for v in back.variables] == [v.name for v in layer.variables]
    assert len(back.trainable_variables) == 2
    assert len(back.non_trainable_variables) == 1
    outer = tf.Module()
    outer.base = back
    assert len(outer.trainable_variables) == 2
    assert outer.submodules == (back,)


def test_a_loaded_object_without_call_says_so(tmp_path: Any) -> None:
    back = saved(tf.Module(), tmp_path / "m")
    with pytest.raises(TypeError, match="no traced __call__"):
        back(1)


def test_a_method_that_a_subclass_overrides_is_not_saved(tmp_path: Any) -> None:
    class Base(tf.Module):
        @tf.function
        def f(self, x: Any) -> Any:
            return x

    class Child(Base):
        def f(self, x: Any) -> Any:
            return x

    assert not hasattr(saved(Child(), tmp_path / "m"), "f")
    assert hasattr(saved(Base(), tmp_path / "n"), "f")


def test_a_key_that_cannot_be_saved_is_named(tmp_path: Any) -> None:
    module = tf.Module()
    module.table = {None: tf.constant(1.0)}
    with pytest.raises(ValueError, match="'table' has the key None of type NoneType"):
        tf.saved_model.save(module, tmp_path / "m")
    module.table = {(1, 2): tf.Variable(1.0)}
    with pytest.raises((TypeError, ValueError), match=r"\(1, 2\)"):
        tf.saved_model.save(module, tmp_path / "m")


class _Empty:
    """Nothing of a model: TensorFlow refuses it, too."""

    def __init__(self) -> None:
        self.number, self.text = 3, "x"

    def __repr__(self) -> str:
        return "empty"


_NO_MODELS = [[1], {"a": 1}, 3, "text", None, np.zeros(3), _Empty(), object, len, {1}, tf.float32]


@pytest.mark.parametrize("root", [*_NO_MODELS, tf.Variable(1.0), tf.constant(1.0)], ids=str)
def test_only_objects_with_attributes_can_be_saved(root: Any, tmp_path: Any) -> None:
    with pytest.raises(ValueError, match="Expected an object with attributes to save"):
        tf.saved_model.save(root, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_assets_are_copied_and_their_paths_set(tmp_path: Any) -> None:
    first, second = tmp_path / "a" / "vocabulary.txt", tmp_path / "b" / "Vocabulary.txt"
    for path in (first, second):
        path.parent.mkdir()
        path.write_text(f"words of {path.parent.name}")
    module = tf.Module()
    module.one = module.same = tf.saved_model.Asset(first)
    module.more = [tf.saved_model.Asset(second)]
    back = saved(module, tmp_path / "m")
    first.unlink()
    assert back.one.path.read_text() == "words of a"
    assert back.more[0].path.read_text() == "words of b"
    assert back.one is back.same
    assert back.one.path.parent == tmp_path / "m" / "assets"
    assert back.one.asset_path.numpy().decode() == str(back.one.path)
    again = saved(back, tmp_path / "again")
    assert again.one.path.read_text() == "words of a"


def test_an_asset_that_is_gone_is_named(tmp_path: Any) -> None:
    module = tf.Module()
    (tmp_path / "words").write_text("x")
    module.asset = tf.saved_model.Asset(tmp_path / "words")
    (tmp_path / "words").unlink()
    with pytest.raises(tf.errors.NotFoundError, match="words"):
        tf.saved_model.save(module, tmp_path / "m")
    assert not (tmp_path / "m").exists()
