"""The folder that a save makes: the same bytes each time, all at once, one copy of the weights."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.source_tree import ROOT
from tests.unit.saved_model.models import Trainer, batch, file_bytes, numbers, run_python, saved

MAKE = """
import sys
import numpy as np
import tfx as tf
from tests.unit.saved_model.models import Trainer, batch, numbers
tf.random.set_seed(1)
model = Trainer()
model.table = {"b": {3, 1}, "a": [1, (2.5, "x")], "c": object}
model.option = ["text", {"z": tf.Variable(1.0), "y": object()}]
big = tf.constant(numbers(100, 100))
inner = tf.function(lambda x: x @ big)
model.f = tf.function(lambda x, act=object(): inner(x) + tf.random.normal([2, 100]))
model.f(tf.constant(numbers(2, 100)))
for i in range(2):
    model.train_step(*batch(i))
tf.saved_model.save(model, sys.argv[1], signatures=model.signatures)
"""


def test_the_same_model_gives_the_same_bytes(tmp_path: Any) -> None:
    model = Trainer()
    model.train_step(*batch())
    for name in ("a", "b"):
        tf.saved_model.save(model, tmp_path / name, signatures=model.signatures)
    assert file_bytes(tmp_path / "a") == file_bytes(tmp_path / "b")


def test_other_processes_give_the_same_bytes(tmp_path: Any) -> None:
    for seed in ("0", "1"):
        run_python(MAKE, tmp_path / seed, env={"PYTHONHASHSEED": seed})
    one, two = file_bytes(tmp_path / "0"), file_bytes(tmp_path / "1")
    assert one.keys() == two.keys()
    assert [n for n in one if one[n] != two[n]] == []


def test_the_order_of_attributes_does_not_matter(tmp_path: Any) -> None:
    for folder, names in (("a", "xyz"), ("b", "zyx")):
        module = tf.Module()
        for name in names:
            setattr(module, name, tf.Variable(float(ord(name))))
            setattr(module, name * 2, name)
        tf.saved_model.save(module, tmp_path / folder)
    assert file_bytes(tmp_path / "a") == file_bytes(tmp_path / "b")


@pytest.mark.parametrize("count", [1, 8])
def test_weights_are_on_disk_once(count: int, tmp_path: Any) -> None:
    w = tf.Variable(numbers(256, 256))
    constant = tf.constant(numbers(256, 256, seed=1))
    copies = [tf.constant(numbers(256, 256, seed=2)) for _ in range(count)]
    inner = tf.function(lambda x: x @ constant)
    module = tf.Module()
    module.w, module.constant = w, constant
    signatures: dict[str, Any] = {}
    for i in range(count):
        signatures[f"read{i}"] = tf.function(
            lambda x, i=i: inner(x @ w + float(i)) + copies[i],
            input_signature=[tf.TensorSpec([256, 256], tf.float32)],
        )
    signatures["write"] = tf.function(
        lambda x: w.assign_add(x).value(), input_signature=[tf.TensorSpec([256, 256], tf.float32)]
    )
    back = saved(module, tmp_path / "m", signatures=signatures)
    weights = 3 * 256 * 256 * 4
    total = sum(len(data) for data in file_bytes(tmp_path / "m").values())
    assert weights <= total <= 1.15 * weights
    x = tf.constant(numbers(256, 256, seed=3))
    for name, function in signatures.items():
        np.testing.assert_allclose(
            back.signatures[name](x=x)["output_0"], function(x), rtol=1e-4, atol=1e-4
        )


def test_constants_in_branches_are_stored_outside(tmp_path: Any) -> None:
    big = numbers(64, 64)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def f(x: Any) -> Any:
        return tf.reduce_sum(tf.constant(big) * x)

    back = saved(f, tmp_path / "m")
    assert (tmp_path / "m" / "serving_default.onnx").stat().st_size < 2000
    np.testing.assert_array_equal(back(2.0), f(2.0))


def test_options(tmp_path: Any) -> None:
    from tfx.bundle.manifest import read_manifest

    module = tf.Module()
    module.v = [tf.Variable(numbers(100)) for _ in range(5)]
    options = tf.saved_model.SaveOptions(metadata={"purpose": "a test"}, max_shard_bytes=800)
    back = saved(module, tmp_path / "m", options=options)
    assert read_manifest(tmp_path / "m").metadata == {"purpose": "a test"}
    assert len(list((tmp_path / "m" / "variables").glob("*.safetensors"))) == 3
    assert (tmp_path / "m" / "variables" / "model.safetensors.index.json").exists()
    for a, b in zip(back.v, module.v, strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(tf.errors.InvalidArgumentError, match="max_shard_bytes is 0"):
        tf.saved_model.SaveOptions(max_shard_bytes=0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="metadata has 'a': 1"):
        tf.saved_model.SaveOptions(metadata={"a": 1})  # type: ignore[dict-item]


def test_errors_of_loaded_functions_name_the_line_if_it_was_kept(tmp_path: Any) -> None:
    f = tf.function(lambda x, y: tf.exp(x @ y))
    f.get_concrete_function(*[tf.TensorSpec([None, None], tf.float32)] * 2)
    for keep in (True, False):
        options = tf.saved_model.SaveOptions(save_debug_info=keep)
        back = saved(f, tmp_path / str(keep), options=options)
        again = saved(back, tmp_path / f"again {keep}", options=options)
        for function in (back, again):
            with pytest.raises(tf.errors.InvalidArgumentError, match="MatMul") as caught:
                function(tf.constant(numbers(2, 3)), tf.constant(numbers(2, 3)))
            assert ("[test_saving.py:" in str(caught.value)) == keep
    data = next((tmp_path / "False").glob("*.onnx")).read_bytes()
    assert b"test_saving" not in data
    assert str(tmp_path).encode() not in next((tmp_path / "True").glob("*.onnx")).read_bytes()


def test_saving_inside_a_traced_function_is_refused(tmp_path: Any) -> None:
    @tf.function
    def f(x: Any) -> Any:
        tf.saved_model.save(tf.Module(), tmp_path / "m")
        return x

    with pytest.raises(ValueError, match="while a function is traced"):
        f(tf.constant(1.0))
    assert not (tmp_path / "m").exists()


def test_what_is_not_a_bundle_is_never_replaced(tmp_path: Any) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("years of work")
    with pytest.raises(tf.errors.AlreadyExistsError, match=r"thesis\.txt"):
        tf.saved_model.save(Trainer(), tmp_path / "home")
    (tmp_path / "file").write_text("x")
    with pytest.raises(tf.errors.AlreadyExistsError):
        tf.saved_model.save(Trainer(), tmp_path / "file")
    assert (tmp_path / "home" / "thesis.txt").read_text() == "years of work"
    assert {p.name for p in tmp_path.iterdir()} == {"home", "file"}


def test_a_save_that_fails_leaves_the_old_bundle(tmp_path: Any, monkeypatch: Any) -> None:
    import tfx.exporters.write_files as writing

    model = Trainer()
    tf.saved_model.save(model, tmp_path / "m", signatures=model.signatures)
    before = file_bytes(tmp_path)
    model.train_step(*batch())

    def fail(*args: Any, **options: Any) -> bytes:
        raise OSError(28, "No space left on device")

    for name in ("manifest_bytes", "write_store", "_copy_assets"):
        with monkeypatch.context() as patch:
            patch.setattr(writing, name, fail)
            with pytest.raises(tf.errors.ResourceExhaustedError, match="No space left"):
                tf.saved_model.save(model, tmp_path / "m", signatures=model.signatures)
        assert file_bytes(tmp_path) == before
    with pytest.raises(ValueError, match="Signature 'x'"):
        tf.saved_model.save(model, tmp_path / "m", signatures={"x": len})
    assert file_bytes(tmp_path) == before


FULL_DISK = """
import resource, sys
import numpy as np
import tfx as tf
model = tf.Module()
model.v = tf.Variable(np.zeros(1 << 20, np.float32))
limit = 1 << 20
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    tf.saved_model.save(model, sys.argv[1])
except tf.errors.ResourceExhaustedError as e:
    print("model.safetensors" in str(e), e.__cause__.errno)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files")
def test_a_full_disk_leaves_the_old_bundle(tmp_path: Any) -> None:
    tf.saved_model.save(Trainer(), tmp_path / "m")
    before = file_bytes(tmp_path)
    assert run_python(FULL_DISK, tmp_path / "m").split() in (["True", "27"], ["False", "27"])
    assert file_bytes(tmp_path) == before


KILLED = """
import sys
import numpy as np
import tfx as tf
from tests.unit.saved_model.models import Trainer
model = Trainer()
model.payload = [tf.Variable(np.full(1 << 18, float(sys.argv[2]), np.float32)) for _ in range(8)]
model.mark = float(sys.argv[2])
tf.saved_model.save(model, sys.argv[1], signatures=model.signatures)
print("ready", flush=True)
while True:
    model.mark += 1.0
    for v in model.payload:
        v.assign(np.full(1 << 18, model.mark, np.float32))
    tf.saved_model.save(model, sys.argv[1], signatures=model.signatures)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends SIGKILL")
def test_a_killed_save_leaves_a_whole_bundle(tmp_path: Any) -> None:
    chance = random.Random(5)
    for attempt in range(12):
        program = [sys.executable, "-c", KILLED, str(tmp_path / "m"), str(float(attempt * 1000))]
        with subprocess.Popen(program, stdout=subprocess.PIPE, cwd=ROOT,
                              env={**os.environ, "PYTHONPATH": str(ROOT)}) as process:  # fmt: skip
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0.0, 0.25))
            process.send_signal(signal.SIGKILL)
            process.wait()
        options = tf.saved_model.LoadOptions(verify=True)
        back = tf.saved_model.load(tmp_path / "m", options=options)
        for v in back.payload:
            assert np.all(v.numpy() == np.float32(back.mark))
        assert back.predict(batch()[0])["logits"].shape == (5, 3)
    tf.saved_model.save(Trainer(), tmp_path / "m")
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_files_that_the_user_put_there_stay(tmp_path: Any) -> None:
    tf.saved_model.save(Trainer(), tmp_path / "m")
    (tmp_path / "m" / "NOTES.md").write_text("mine")
    tf.saved_model.save(Trainer(), tmp_path / "m")
    assert (tmp_path / "m" / "NOTES.md").read_text() == "mine"
    tf.saved_model.load(tmp_path / "m")


def test_parent_folders_are_made(tmp_path: Any) -> None:
    tf.saved_model.save(Trainer(), str(tmp_path / "a" / "b" / "m") + "/")
    assert tf.saved_model.contains_saved_model(tmp_path / "a" / "b" / "m")
    assert tf.saved_model.contains_saved_model(str(tmp_path / "a" / "b" / "m"))
    for path in (tmp_path, tmp_path / "a" / "none", Path(__file__)):
        assert not tf.saved_model.contains_saved_model(path)


@pytest.mark.slow
@pytest.mark.skipif("sys.platform != 'linux'", reason="reads /proc")
def test_saving_holds_no_second_copy_of_the_weights(tmp_path: Any) -> None:
    program = """
import sys
import numpy as np
import tfx as tf
tf.saved_model.save(tf.Module(), sys.argv[1] + "/warm")
module = tf.Module()
module.v = [tf.Variable(np.ones(1 << 22, np.float32)) for _ in range(8)]
module.f = tf.function(lambda x: x @ tf.reshape(module.v[0], [4, -1]) )
module.f(tf.ones([1, 4]))
def peak():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
open("/proc/self/clear_refs", "w").write("5")
before = peak()
tf.saved_model.save(module, sys.argv[1] + "/m")
print(peak() - before)
"""
    assert int(run_python(program, tmp_path)) < 24 << 20  # of 128 MiB


FILES = """
import resource, sys
import tfx as tf
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
bundles = [tf.saved_model.load(sys.argv[1]) for _ in range(3)]
print(sum(float(f(1.0)) for loaded in bundles for f in loaded.parts))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no such limit")
def test_many_functions_need_few_open_files(tmp_path: Any) -> None:
    module = tf.Module()
    spec = [tf.TensorSpec([])]
    module.parts = [
        tf.function(lambda x, i=i: x * float(i), input_signature=spec) for i in range(40)
    ]
    tf.saved_model.save(module, tmp_path / "m", options=tf.saved_model.SaveOptions(examples=False))
    assert float(run_python(FILES, tmp_path / "m")) == 3 * sum(range(40))
