"""The facade itself: names that are also those of sub-packages."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
import types
from typing import Any

import pytest

import tfx as tf
from tfx._exports import SUBMODULES


def test_importing_a_sub_package_does_not_hide_the_function_of_its_name() -> None:
    # What the import system does when the package is imported for the first time.
    tf.function = importlib.import_module("tfx.function")
    assert tf.function(lambda: tf.constant(1.0))().numpy() == 1.0


NAMESPACES = [n for n in SUBMODULES if n != "raw"]
NAMESPACES += ["compat.v1", "compat.v1.train", "compat.v1.nn", "compat.v2", "config.experimental"]
NAMESPACES += ["config.threading", "autograph.experimental", "train.experimental", "math.special"]
NAMESPACES += ["summary.experimental", "nn.experimental", "types.experimental", "io.gfile"]
NAMESPACES += ["lookup.experimental", "random.experimental", "experimental.numpy"]
NAMESPACES += ["experimental.numpy.random"]


@pytest.mark.parametrize("name", ["", *NAMESPACES])
def test_namespaces_list_public_names_alone(name: str) -> None:
    namespace = importlib.import_module(f"tfx.{name}" if name else "tfx")
    names = dir(namespace)
    assert names == sorted(set(names))
    assert not [n for n in names if n.startswith("_") and n != "__version__"]
    for attribute in names:
        value = getattr(namespace, attribute)
        assert not isinstance(value, types.ModuleType) or value.__name__.startswith("tfx"), value
        home = value.__module__ if isinstance(value, types.FunctionType | type) else ""
        assert home.partition(".")[0] not in ("typing", "collections", "types", "functools"), value
    assert not {"annotations", "importlib", "sys", "NAMES"} & set(names)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("zeross", "module 'tfx' has no attribute 'zeross'; did you mean 'zeros'?"),
        ("xla", "TensorFlow has tf.xla, tfx does not have it (yet); graphs are compiled by ONNX"),
        ("image.decode_webp", "TensorFlow has tf.image.decode_webp, tfx does not have"),
        ("placeholder", "; it is tfx.compat.v1.placeholder"),
        ("log", "; it is tfx.math.log"),
        ("no_such_thing_at_all", "module 'tfx' has no attribute 'no_such_thing_at_all'"),
        ("nn.reluu", "module 'tfx.nn' has no attribute 'reluu'; did you mean 'relu'?"),
        ("nn.cond", "; it is tfx.cond"),
        ("math.bessel_k0", "; it is tfx.math.special.bessel_k0"),
        ("io.gfile.exist", "; did you mean 'exists'?"),
        (
            "types.experimental.AtomicFunction",
            "TensorFlow has tf.types.experimental.AtomicFunction",
        ),
        ("train.AdamOptimizer", "; it is tfx.compat.v1.train.AdamOptimizer"),
        ("compat.v1.user_ops", "TensorFlow has tf.compat.v1.user_ops, tfx does not have it (yet)"),
        ("compat.v1.nn.quantized_conv2d", "TensorFlow has tf.compat.v1.nn.quantized_conv2d"),
        ("compat.v1.nn.quantized_relu_x", "TensorFlow has tf.compat.v1.nn.quantized_relu_x"),
        ("compat.v2.xla", "TensorFlow has tf.xla"),
        ("compat.v3", "'tfx.compat' has no attribute 'v3'"),
        ("autodiff.Nothing", "; it has ForwardAccumulator, GradientTape"),
    ],
)
def test_a_missing_name_says_where_to_look(name: str, told: str) -> None:
    owner: Any = tf
    *path, last = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    assert not hasattr(owner, last)
    with pytest.raises(AttributeError) as caught:
        getattr(owner, last)
    assert told in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_asking_for_a_name_costs_little() -> None:
    # What is said of it is only found out when it is read.
    program = (
        "import sys, tfx\n"
        "assert not hasattr(tfx, 'xla') and not hasattr(tfx, 'zeross')\n"
        "print([m for m in sys.modules if m in ('difflib', 'tfx.core.tensorflow_names')])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stderr


def test_namespaces_without_a_file_are_modules() -> None:
    program = (
        "import pickle, cloudpickle, tfx.nn.experimental\n"
        "from tfx.io import gfile\n"
        "import tfx as tf\n"
        "assert tfx.nn.experimental.stateless_dropout and gfile is tf.io.gfile\n"
        "print(cloudpickle.dumps(tf.math.special).hex())"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert pickle.loads(bytes.fromhex(run.stdout)) is tf.math.special


def test_versions_are_those_of_this_library() -> None:
    assert tf.version.VERSION == tf.__version__ == tf.compat.v1.VERSION
    assert tf.version.GIT_VERSION == f"v{tf.__version__}" == tf.compat.v1.GIT_VERSION
    assert tf.version.COMPILER_VERSION


def test_older_names_of_diagonals() -> None:
    v1 = tf.compat.v1
    assert v1.diag([1.0, 2.0]).numpy().tolist() == [[1.0, 0.0], [0.0, 2.0]]
    assert v1.diag_part(v1.diag([1.0, 2.0])).numpy().tolist() == [1.0, 2.0]
