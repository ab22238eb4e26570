"""Binding of arguments: names and named dimensions."""

from __future__ import annotations

import numpy as np
import pytest

from tfx.bundle.manifest import TensorInfo
from tfx.core.errors import InvalidArgumentError
from tfx.loaders.signature import SignatureInfo, bind


def tensors(*infos: TensorInfo) -> dict[str, TensorInfo]:
    return {info.name: info for info in infos}


INFO = SignatureInfo(
    "match",
    tensors(
        TensorInfo("float32", ("batch", 2), "image"),
        TensorInfo("int64", ("batch",), "label"),
        TensorInfo("float32", ("image.d0", None), "other"),
    ),
    tensors(TensorInfo("float32", (), "score")),
)
GOOD = {"image": [[1, 2]], "label": [3], "other": [[1]]}


def message(given: dict[str, object]) -> str:
    with pytest.raises(InvalidArgumentError) as caught:
        bind(INFO, given)
    return str(caught.value)


def test_all_inputs_in_the_signatures_order() -> None:
    arrays = bind(INFO, dict(reversed(GOOD.items())))
    assert list(arrays) == ["image", "label", "other"]
    assert arrays["label"].dtype == np.int64


def test_a_missing_input_is_named_with_what_came() -> None:
    assert message({k: v for k, v in GOOD.items() if k != "label"}) == (
        "signature 'match' needs the input 'label' (int64[batch]), which is missing; "
        "came: 'image', 'other'; "
        "its inputs: image float32[batch, 2], label int64[batch], other float32[None, None]"
    )
    assert "nothing came" in message({})


def test_a_mistyped_input_is_told_the_nearest_of_the_missing() -> None:
    text = message({"image": [[1, 2]], "lable": [3], "other": [[1]]})
    assert "takes no input 'lable'; did you mean 'label'? its inputs: image" in text
    assert "did you mean" not in message({**GOOD, "zzz": 1})


def test_a_name_stands_for_one_size() -> None:
    assert "input 'label' has 2 for dimension 'batch' (axis 0), but input 'image' has 1" in message(
        {**GOOD, "label": [3, 4]}
    )


def test_a_name_of_the_tracer_is_not_shown() -> None:
    info = SignatureInfo(
        "f",
        tensors(TensorInfo("int64", ("a.d0",), "a"), TensorInfo("int64", ("a.d0",), "b")),
        {},
    )
    with pytest.raises(InvalidArgumentError, match="input 'b' has 2 for a dimension"):
        bind(info, {"a": [1], "b": [1, 2]})
    assert str(info) == "f(a: int64[None], b: int64[None]) -> nothing"
