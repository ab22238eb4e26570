"""Saving and restoring: values, names, numbering, options."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.unit.train.objects import Plain, f, module, one_of_each_dtype, v
from tfx.core.errors import (
    BundleError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
)
from tfx.core.shapes import TensorShape
from tfx.framework.convert import constant
from tfx.framework.trackable import walk
from tfx.framework.variable import Variable
from tfx.function.tracing.function import function
from tfx.train import Checkpoint, CheckpointOptions, files, list_variables, load_checkpoint


class Pair(NamedTuple):
    a: Any
    b: Any


def names(path: str) -> list[str]:
    return [name for name, _ in list_variables(path)]


def test_every_dtype_and_shape_comes_back(tmp_path: Path) -> None:
    saved = one_of_each_dtype()
    path = Checkpoint(values=saved).write(tmp_path / "c")
    restored = {name: Variable(other_value(x), shape=x.shape) for name, x in saved.items()}
    restored["unknown shape"] = Variable(np.zeros(5, np.float32), shape=TensorShape(None))
    Checkpoint(values=restored).read(path).assert_consumed()
    for name, x in saved.items():
        got, expected = np.asarray(restored[name].numpy()), np.asarray(x.numpy())
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected, err_msg=name)


def other_value(x: Variable) -> Any:
    """Give something else of a variable's dtype and shape."""
    array = np.asarray(x.numpy())
    if x.dtype.name != "string":
        return np.zeros_like(array)
    return constant(np.full(array.shape, "other", object), dtype=x.dtype)


def test_bits_of_floats_are_kept(tmp_path: Path) -> None:
    bits = np.array([0x7FC00001, 0xFF800000, 0x80000000, 1], np.uint32)
    x = v(bits.view(np.float32))
    path = Checkpoint(x=x).write(tmp_path / "c")
    x.assign(np.zeros(4, np.float32))
    Checkpoint(x=x).read(path)
    np.testing.assert_array_equal(x.numpy().view(np.uint32), bits)


def test_names_are_the_paths(tmp_path: Path) -> None:
    model = module(
        layers=[module(kernel=v(), bias=v()), (v(), {"k/x": v(), 3: v()})],
        pair=Pair(v(), v()),
        _private=v(),
        plain=Plain(w=v()),
    )
    path = Checkpoint(model=model, step=v(1)).save(tmp_path / "c")
    assert names(path) == sorted([
        "model/_private", "model/layers/0/bias", "model/layers/0/kernel", "model/layers/1/0",
        "model/layers/1/1/3", "model/layers/1/1/k%2Fx", "model/pair/a", "model/pair/b",
        "model/plain/w", "save_counter", "step",
    ])  # fmt: skip


def test_root_and_its_parts_have_no_name_in_front(tmp_path: Path) -> None:
    model = module(w=v(3.0))
    checkpoint = Checkpoint(model, extra=v(4.0))
    path = checkpoint.save(tmp_path / "c")
    assert names(path) == ["extra", "save_counter", "w"]
    assert names(Checkpoint(root=[v()]).write(tmp_path / "list")) == ["0"]
    model.w.assign(0.0)
    checkpoint.restore(path).assert_consumed()
    assert f(model.w) == 3.0


def test_an_object_may_own_the_checkpoint_whose_root_it_is(tmp_path: Path) -> None:
    """A weak reference as root lets the object go, unlike the object itself."""
    model = module(a=v(1))
    model.checkpoint = Checkpoint(weakref.ref(model))
    path = model.checkpoint.write(tmp_path / "c")
    assert names(path) == ["a"]
    model.a.assign(2)
    model.checkpoint.read(path).assert_consumed()
    assert model.a.numpy() == 1
    checkpoint, gone = Checkpoint(weakref.ref(model)), weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
    with pytest.raises(AssertionError, match="the object is gone"):
        checkpoint.write(tmp_path / "lost")
    with pytest.raises(ValueError, match="expecting root to be an object that can have state"):
        Checkpoint(gone)


def test_objects_may_be_added_later(tmp_path: Path) -> None:
    checkpoint = Checkpoint()
    checkpoint.inner = Checkpoint(w=v(2.0))
    assert names(checkpoint.write(tmp_path / "c")) == ["inner/w"]


def test_shared_objects_are_saved_once_and_restored_everywhere(tmp_path: Path) -> None:
    shared = v(5.0)
    path = Checkpoint(a=module(w=shared), b=module(w=shared)).write(tmp_path / "c")
    assert names(path) == ["a/w"]
    only_b = module(w=v())
    Checkpoint(b=only_b).read(path).assert_consumed()
    assert f(only_b.w) == 5.0


def test_cycles(tmp_path: Path) -> None:
    model = module(w=v(1.0))
    model.child = module(parent=model, w=v(2.0))
    checkpoint = Checkpoint(model)
    path = checkpoint.write(tmp_path / "c")
    model.w.assign(0.0)
    model.child.w.assign(0.0)
    checkpoint.read(path).assert_consumed()
    assert (f(model.w), f(model.child.w)) == (1.0, 2.0)


def test_numbers_count_up_and_come_back(tmp_path: Path) -> None:
    checkpoint = Checkpoint(w=v())
    assert checkpoint.save(tmp_path / "c") == str(tmp_path / "c-1")
    path = checkpoint.save(str(tmp_path / "c"))
    assert path == str(tmp_path / "c-2")
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "c-1.safetensors", "c-2.safetensors", "checkpoint"
    ]  # fmt: skip
    other = Checkpoint(w=v())
    other.restore(path).assert_consumed()
    assert int(other.save_counter) == 2
    assert other.save(tmp_path / "c") == str(tmp_path / "c-3")


def test_read_and_restore_take_what_the_other_wrote(tmp_path: Path) -> None:
    checkpoint = Checkpoint(w=v(1.0))
    written, saved = checkpoint.write(tmp_path / "w"), checkpoint.save(tmp_path / "s")
    assert names(written) == ["w"]
    reading = Checkpoint(w=v())
    reading.read(saved).assert_consumed()
    assert int(reading.save_counter) == 1
    restoring = Checkpoint(w=v())
    restoring.restore(written).assert_consumed().assert_existing_objects_matched()
    assert int(restoring.save_counter) == 0


def test_a_failed_save_does_not_count(tmp_path: Path) -> None:
    checkpoint = Checkpoint(w=v())
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OpError, match="file"):
        checkpoint.save(tmp_path / "file" / "c")
    assert int(checkpoint.save_counter) == 0


def test_python_values_and_arrays_are_not_saved(tmp_path: Path) -> None:
    path = Checkpoint(m=module(n=3, a=np.ones(3), t=v(1.0).value(), w=v())).write(tmp_path / "c")
    assert names(path) == ["m/w"]


def test_the_same_values_give_the_same_bytes(tmp_path: Path) -> None:
    def save(name: str) -> bytes:
        model = module(layers=[module(w=v(float(i)), b=v([1.0] * i)) for i in range(5)])
        return Path(Checkpoint(m=model).write(tmp_path / name) + ".safetensors").read_bytes()

    assert save("one") == save("two")


def test_nothing_to_save_is_a_checkpoint_too(tmp_path: Path) -> None:
    path = Checkpoint().write(tmp_path / "c")
    assert list_variables(path) == []
    Checkpoint().read(path).assert_consumed()


def test_other_tools_read_the_file(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    path = Checkpoint(layers=[module(kernel=v([1.0, 2.0]))]).write(tmp_path / "c")
    found = safetensors.load_file(path + ".safetensors")
    np.testing.assert_array_equal(found["layers/0/kernel"], [1.0, 2.0])


@pytest.mark.parametrize("separator", ["/", "."])
def test_files_of_other_tools_are_read(tmp_path: Path, separator: str) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    key = separator.join(("layers", "0", "kernel"))
    safetensors.save_file({key: np.array([1, 2], np.float32)}, tmp_path / "model.safetensors")
    model = module(layers=[module(kernel=v([0.0, 0.0]))])
    Checkpoint(model).read(tmp_path / "model.safetensors").assert_consumed()
    np.testing.assert_array_equal(model.layers[0].kernel.numpy(), [1.0, 2.0])


def test_shards(tmp_path: Path) -> None:
    values = [v(np.full(100, i, np.float32)) for i in range(10)]
    checkpoint = Checkpoint(values=values)
    path = checkpoint.save(tmp_path / "c", CheckpointOptions(max_shard_bytes=1000))
    shards = sorted(p.name for p in tmp_path.iterdir())
    assert len(shards) == 7
    assert {"c-1.safetensors.index.json", "checkpoint"} < set(shards)
    for x in values:
        x.assign(np.zeros(100, np.float32))
    checkpoint.restore(path).assert_consumed()
    assert [x.numpy()[0] for x in values] == list(range(10))
    assert len(names(path)) == 11


# Arguments


@pytest.mark.parametrize(
    ("root", "named"),
    [
        (None, {"a": 3}),
        (None, {"a": None}),
        (None, {"a": object()}),
        ("text", {}),
        (None, {"a": np.zeros(3)}),
        (None, {"a": function(lambda x: x)}),
        (v(), {}),
        (None, {"save": v()}),
        (None, {"_self_x": v()}),
        (module(w=v()), {"w": v()}),
    ],
    ids=[
        "int",
        "None",
        "object",
        "str",
        "array",
        "function",
        "variable",
        "method",
        "private",
        "taken",
    ],
)
def test_what_a_checkpoint_cannot_be_made_of(root: Any, named: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Checkpoint"):
        Checkpoint(root, **named)


def test_root_and_keyword_may_name_one_object() -> None:
    model = module(w=v())
    assert len([n for n in walk(Checkpoint(model, w=model.w)) if n.is_variable]) == 1


@pytest.mark.parametrize("name", ["", "a:b", "a\\b", "trailing.", "star*"])
def test_names_that_are_no_file_everywhere_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be written"):
        Checkpoint(w=v()).write(f"{tmp_path}/{name}")


def test_folders_are_made(tmp_path: Path) -> None:
    path = Checkpoint(w=v()).save(tmp_path / "a" / "b" / "c")
    assert load_checkpoint(tmp_path / "a" / "b").path == Path(path + ".safetensors")


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    checkpoint = Checkpoint(w=v(1.0))
    assert checkpoint.save("c") == "c-1"
    checkpoint.restore("c-1").assert_consumed()
    assert load_checkpoint(".").keys() == ["save_counter", "w"]


def test_not_while_a_function_is_traced(tmp_path: Path) -> None:
    checkpoint = Checkpoint(w=v())
    path = checkpoint.write(tmp_path / "c")

    @function
    def save() -> None:
        checkpoint.write(tmp_path / "d")

    @function
    def restore() -> None:
        checkpoint.read(path)

    for step in (save, restore):
        with pytest.raises(ValueError, match="while a function is traced"):
            step()


def test_restoring_nothing(tmp_path: Path) -> None:
    status = Checkpoint(w=v()).restore(None)
    status.initialize_or_restore()
    assert status.expect_partial() is status
    assert "nothing was restored" in str(status)
    for check in (status.assert_consumed, status.assert_existing_objects_matched,
                  status.assert_nontrivial_match):  # fmt: skip
        with pytest.raises(AssertionError, match="No checkpoint specified"):
            check()


def test_missing_checkpoints_name_the_nearest(tmp_path: Path) -> None:
    checkpoint = Checkpoint(w=v())
    checkpoint.save(tmp_path / "model")
    with pytest.raises(NotFoundError, match="did you mean 'model-1'"):
        checkpoint.restore(tmp_path / "model-2")
    with pytest.raises(NotFoundError, match=r"a folder.*did you mean its latest .*model-1"):
        checkpoint.restore(tmp_path)
    with pytest.raises(NotFoundError, match="no checkpoint of this path"):
        checkpoint.restore(tmp_path / "no" / "where")


def test_a_read_only_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr(files, "write_store", refuse)
    with pytest.raises(PermissionDeniedError, match="choose another folder"):
        Checkpoint(w=v()).save(tmp_path / "c")
    assert list(tmp_path.iterdir()) == []


# In the background


def test_background_saves_the_values_of_the_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_write, real = threading.Event(), files.write_store

    def slow(*args: Any, **kwargs: Any) -> Any:
        assert may_write.wait(30)
        return real(*args, **kwargs)

    monkeypatch.setattr(files, "write_store", slow)
    x = v(1.0)
    checkpoint = Checkpoint(x=x)
    path = checkpoint.save(tmp_path / "c", background=True)
    x.assign(2.0)
    assert not Path(path + ".safetensors").exists()
    may_write.set()
    checkpoint.sync()
    assert load_checkpoint(tmp_path).get_tensor("x") == 1.0
    assert f(x) == 2.0


@pytest.mark.parametrize(
    "options",
    [CheckpointOptions(enable_async=True),
     CheckpointOptions(experimental_enable_async_checkpoint=True)],
    ids=["enable_async", "experimental"],
)  # fmt: skip
def test_tensorflows_options_for_the_background(tmp_path: Path, options: CheckpointOptions) -> None:
    checkpoint = Checkpoint(x=v(1.0))
    paths = [checkpoint.save(tmp_path / "c", options) for _ in range(3)]
    checkpoint.restore(paths[-1]).assert_consumed()
    assert int(checkpoint.save_counter) == 3


def test_background_errors_come_with_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    checkpoint = Checkpoint(x=v())
    with monkeypatch.context() as patch:
        patch.setattr(files, "write_store", fail)
        checkpoint.save(tmp_path / "c", background=True)
        with pytest.raises(MemoryError, match="the disk is full"):
            checkpoint.save(tmp_path / "c")
    checkpoint.sync()
    assert checkpoint.save(tmp_path / "c") == str(tmp_path / "c-2")


def test_write_callbacks(tmp_path: Path) -> None:
    heard: list[Any] = []
    options = CheckpointOptions(
        experimental_write_callbacks=[heard.append, lambda: heard.append("called")]
    )
    path = Checkpoint(x=v()).write(tmp_path / "c", options)
    assert heard == [path, "called"]


def test_errors_are_those_of_tfx(tmp_path: Path) -> None:
    path = Checkpoint(x=v()).write(tmp_path / "c")
    Path(path + ".safetensors").write_bytes(b"\0" * 100)
    with pytest.raises(BundleError, match=r"c\.safetensors"):
        Checkpoint(x=v()).read(path)
    with pytest.raises(InvalidArgumentError):
        Checkpoint(x=v([1.0])).read(Checkpoint(x=v()).write(tmp_path / "d"))
