"""onnx's backend tests through ``import_onnx``; those that fail are listed with the reason."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.backend.test
import pytest
from onnx import numpy_helper

import tfx as tf
from tests.ops.backend_cases import rounding
from tests.ops.overrides import RELEASE

# One of so many cases is run; all of them take half a minute.
STEP = 6
_DATA = Path(onnx.backend.test.__file__).parent / "data"
_PACKAGED = sorted(
    f"{kind}/{path.name}"
    for kind in ("simple", "pytorch-converted", "pytorch-operator")
    for path in (_DATA / kind).iterdir()
)

# What a name matches -> why the case fails, as a pattern of the message.
REFUSED = {
    r"flexattention(?!.*expanded)|gradient_of": r"neither of the ONNX",
    r"test_(adagrad|adam|momentum|nesterov_momentum)": r"neither of the ONNX",
    r"image_decoder": r"NOT_IMPLEMENTED",
    r"strnorm\w*_(lower|upper|empty_output|twodim)$": r"string_normalizer",
    r"convinteger_with_padding": r"ConvInteger",
    r"if_opt$": r"'optional_empty' is an optional value",
    r"scan_sum$": r"Scan-8",
    r"reduce_max_empty_set_bool": r"not defined for empty set",
    r"bitcast_bool": r"BitCast",
    r"celu_bfloat16(_expanded)?$": r"Elu cannot be applied",
}
if RELEASE < (1, 32):  # of ONNX Runtime
    REFUSED |= {
        r"attention_(3d_local|local|bidirectional)_window(?!.*expanded)": r"INVALID_GRAPH",
        r"attention_4d_(causal_padded_kv_bf16|padded_kv_bf16)$": r"cannot be applied",
        r"attention_4d_diff_heads_mask4d_padded_kv$": r"cannot be applied",
    }
NEWER = r"operator of opset 2[78]|ONNX element type \d+ is not supported"
# Other numbers than the file's: random ones, and where ONNX Runtime's kernel differs from the text.
DIFFERENT = (
    r"bernoulli|training_dropout|_dft|_stft|maxunpool_export_with_output_shape|"
    r"resize_downsample_scales_(cubic|linear)_align_corners|qk_matmul_bias_.d_mask_causal"
)
# Results are in the file with four decimals.
ROUNDED = r"averagepool_2d_ceil_last_window_starts_on_pad|gridsample_bicubic|roialign_aligned"


def packaged(name: str) -> tuple[onnx.ModelProto, Iterator[tuple[list[Any], list[Any]]]]:
    folder = _DATA / name
    model = onnx.load(folder / "model.onnx")

    def sets() -> Iterator[tuple[list[Any], list[Any]]]:
        for data in sorted(folder.glob("test_data_set_*")):
            yield tensors(data, "input"), tensors(data, "output")

    return model, sets()


def tensors(folder: Path, kind: str) -> list[Any]:
    files = sorted(folder.glob(f"{kind}_*.pb"), key=lambda p: int(p.stem.rpartition("_")[2]))
    return [numpy_helper.to_array(onnx.load_tensor(str(p))) for p in files]


def check_sets(model: onnx.ModelProto, sets: Any, least: float | None) -> None:
    """Run a model and compare, with an absolute tolerance of at least this; None: do not."""
    imported = tf.import_onnx(model)
    sets = [[list(map(array, part)) for part in pair] for pair in sets]
    assert sets
    names = [i.name for i in model.graph.input]
    for inputs, outputs in sets:
        found = imported(**dict(zip(names, inputs, strict=False)))
        values = [found[o.name] for o in model.graph.output] if isinstance(found, dict) else [found]
        for value, right in zip(values, outputs, strict=True):
            if least is not None:
                check(value, right, least)


def array(x: Any) -> Any:
    """Inputs and outputs of some cases are protos."""
    return numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else x


def check(found: Any, right: Any, least: float) -> None:
    if isinstance(right, list | tuple):
        for a, b in zip(found, right, strict=True):
            check(a, b, least)
        return
    right, found = np.asarray(right), np.asarray(found.numpy())
    if right.dtype.kind in "OUS":
        texts = [x.decode() if isinstance(x, bytes) else str(x) for x in found.reshape(-1).tolist()]
        assert texts == [str(x) for x in right.reshape(-1).tolist()]
        return
    assert (found.shape, str(found.dtype)) == (right.shape, str(right.dtype))
    if right.dtype.kind in "iub":
        np.testing.assert_array_equal(found, right)
        return
    wide: Any = np.complex128 if right.dtype.kind == "c" else np.float64
    unit = rounding(right.dtype)
    np.testing.assert_allclose(
        found.astype(wide), right.astype(wide), rtol=max(1e-5, 2 * unit), atol=max(least, unit / 2)
    )


def outcome(name: str, model: Any, sets: Any) -> str | None:
    """What is not as it should be; None: nothing."""
    expected = next((why for part, why in REFUSED.items() if re.search(part, name)), None)
    least = 1e-4 if re.search(ROUNDED, name) else 2e-6
    try:
        check_sets(model, sets, None if re.search(DIFFERENT, name) else least)
    except (tf.errors.OpError, TypeError) as e:
        allowed = NEWER if expected is None else f"{expected}|{NEWER}"
        return None if re.search(allowed, str(e), re.DOTALL) else f"{name}: {e!s:.300}"
    except AssertionError as e:
        return f"{name}: {e!s:.300}"
    return None if expected is None else f"{name}: passes now"


@pytest.mark.parametrize("kind", ["simple", "pytorch-converted", "pytorch-operator"])
def test_models_that_come_with_onnx(kind: str) -> None:
    names = [n for n in _PACKAGED if n.startswith(f"{kind}/") and "sequence_model" not in n]
    problems = [outcome(n, *packaged(n)) for n in names]
    assert [p for p in problems if p is not None] == []
    assert len(names) > 10


def test_models_of_one_operator() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases("")
        chosen = [c for i, c in enumerate(cases) if i % STEP == 0]
        problems = [outcome(c.name, c.model, c.data_sets) for c in chosen]
    assert [p for p in problems if p is not None] == []
    assert len(chosen) > 200
