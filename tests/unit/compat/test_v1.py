"""The names of ``tfx.compat``."""

from __future__ import annotations

import importlib
import subprocess
import sys
import types
from typing import Any

import pytest

import tfx as tf

MODULES = ["", ".app", ".debugging", ".initializers", ".logging", ".losses", ".nn", ".random"]
MODULES += [".image", ".math", ".strings", ".saved_model", ".summary", ".train", ".layers"]
MODULES += [".metrics", ".sparse", ".sets", ".io", ".python_io", ".manip", ".spectral", ".gfile"]
MODULES += [".recurrent.rnn_cell"]


@pytest.mark.parametrize("module", MODULES)
def test_every_listed_name_exists(module: str) -> None:
    namespace = importlib.import_module(f"tfx.compat.v1{module}")
    names = dir(namespace)
    assert names == sorted(set(names))
    for name in names:
        assert hasattr(namespace, name), name


def test_other_names_are_those_of_tensorflow_2() -> None:
    v1 = tf.compat.v1
    assert v1.float32 is tf.float32
    assert v1.errors is tf.errors
    assert v1.log is tf.math.log
    assert v1.nn.relu is tf.nn.relu
    assert v1.train.latest_checkpoint is tf.train.latest_checkpoint
    assert v1.Tensor is tf.Tensor
    assert v1.Graph is tf.Graph
    assert tf.compat.v2.square is tf.square
    assert "square" in dir(tf.compat.v2)
    texts = ["as_bytes", "as_str", "as_str_any", "as_text", "bytes_or_text_types", "complex_types"]
    texts += ["dimension_at_index", "dimension_value", "forward_compatibility_horizon"]
    texts += ["forward_compatible", "integral_types", "path_to_bytes", "path_to_str", "real_types"]
    assert dir(tf.compat) == [*texts, "v1", "v2"]


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(AttributeError, match="did you mean 'placeholder'"):
        tf.compat.v1.placehoder  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean 'Saver'"):
        tf.compat.v1.train.Svaer  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'v3'"):
        tf.compat.v3  # noqa: B018


def test_nothing_is_imported_before_it_is_needed() -> None:
    program = (
        "import sys, tfx, tfx.compat.v1 as tf; import tfx.compat.v2\n"
        "print([m for m in sys.modules if m == 'tfx.compat.v1.graph.graph' or m == 'onnx'])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stderr


def test_graphs_are_messages() -> None:
    v1 = tf.compat.v1
    with v1.Graph().as_default() as graph:
        v1.placeholder(tf.float32, [2], name="x") * 2.0
    message = v1.GraphDef()
    message.ParseFromString(graph.as_graph_def().SerializeToString())
    assert [node.op_type for node in message.node] == ["Mul"]
    with v1.Graph().as_default() as other:
        v1.import_graph_def(message, name="")
        assert "x" in [op.name for op in other.get_operations()]


def test_flags_are_those_of_absl(monkeypatch: pytest.MonkeyPatch) -> None:
    v1 = tf.compat.v1
    assert v1.app.flags is v1.flags
    absl, flags = types.ModuleType("absl"), types.ModuleType("absl.flags")
    flags.DEFINE_integer = lambda *args: args  # type: ignore[attr-defined]
    parsed: list[Any] = []

    def parse(arguments: list[str], known_only: bool) -> list[str]:
        parsed.append((arguments, known_only))
        return [arguments[0], "rest"]

    flags.FLAGS = parse  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "absl", absl)
    monkeypatch.setitem(sys.modules, "absl.flags", flags)
    assert v1.flags.DEFINE_integer("n", 3, "number") == ("n", 3, "number")
    assert "DEFINE_integer" in dir(v1.flags)
    seen: list[list[str]] = []
    with pytest.raises(SystemExit):
        v1.app.run(seen.append, ["program", "--n=5", "rest"])
    assert (seen, parsed) == ([["program", "rest"]], [(["program", "--n=5", "rest"], True)])


def test_flags_without_absl_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "absl.flags", None)
    with pytest.raises(AttributeError, match="pip install absl-py"):
        tf.compat.v1.flags.FLAGS  # noqa: B018
    assert dir(tf.compat.v1.flags) == []


def test_older_names_of_functions() -> None:
    """What they compute is tested where they are; here, that the name is the right function."""
    v1 = tf.compat.v1
    pairs = {
        "cholesky": tf.linalg.cholesky,
        "cross": tf.linalg.cross,
        "div_no_nan": tf.math.divide_no_nan,
        "floor_div": tf.math.floordiv,
        "matrix_band_part": tf.linalg.band_part,
        "matrix_determinant": tf.linalg.det,
        "matrix_diag": tf.linalg.diag,
        "matrix_diag_part": tf.linalg.diag_part,
        "matrix_inverse": tf.linalg.inv,
        "matrix_set_diag": tf.linalg.set_diag,
        "matrix_solve": tf.linalg.solve,
        "matrix_solve_ls": tf.linalg.lstsq,
        "matrix_square_root": tf.linalg.sqrtm,
        "matrix_transpose": tf.linalg.matrix_transpose,
        "matrix_triangular_solve": tf.linalg.triangular_solve,
        "qr": tf.linalg.qr,
        "random_crop": tf.image.random_crop,
        "random_gamma": tf.random.gamma,
        "read_file": tf.io.read_file,
        "regex_replace": tf.strings.regex_replace,
        "reverse_v2": tf.reverse,
        "self_adjoint_eig": tf.linalg.eigh,
        "self_adjoint_eigvals": tf.linalg.eigvalsh,
        "string_join": tf.strings.join,
        "svd": tf.linalg.svd,
        "tensor_scatter_add": tf.tensor_scatter_nd_add,
        "tensor_scatter_update": tf.tensor_scatter_nd_update,
        "trace": tf.linalg.trace,
        "OpError": tf.errors.OpError,
    }
    for name, function in pairs.items():
        assert getattr(v1, name) is function, name
    assert v1.diag is tf.linalg.tensor_diag
    assert v1.diag_part is tf.linalg.tensor_diag_part


def test_keras_is_that_of_the_library() -> None:
    keras = pytest.importorskip("keras")
    from tfx.compat.v1 import keras as named

    assert named is tf.keras and named.layers.Dense is keras.layers.Dense
