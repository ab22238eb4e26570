"""What a conformance case asks of a bundle, of the loader for Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tfx.core import errors
from tfx.loaders import Bundle


def run_case(folder: Path, scratch: Path) -> None:
    """Run the case in ``folder``.

    Args:
        folder: The case.
        scratch: Where bundles may be saved.

    Raises:
        AssertionError: something came out differently.
    """
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    place = folder / case.get("bundle", "bundle")
    if "refused" in case:
        _must_fail(case["refused"], lambda: _use(Bundle.open(place)))
        return
    bundle = Bundle.open(place)
    for step in case["steps"]:
        if "call" in step:
            _call(bundle, step, case)
        elif "variables" in step:
            for name, item in step["variables"].items():
                _compare(bundle.variables[name], item, case)
        elif "assign" in step:
            bundle.variables.assign({name: _array(item) for name, item in step["assign"].items()})
        elif step == {"save": True}:
            bundle.save(scratch / folder.name)
            bundle.close()
            bundle = Bundle.open(scratch / folder.name, verify=True)
        else:
            raise AssertionError(f"unknown step {step}")
    bundle.close()


def _use(bundle: Bundle) -> None:
    """Touch everything once."""
    bundle.warmup()
    for name in bundle.variables:
        np.array(bundle.variables[name])


def _call(bundle: Bundle, step: dict[str, Any], case: dict[str, Any]) -> None:
    inputs = {name: _array(item) for name, item in step["inputs"].items()}
    if "error" in step:
        _must_fail(step["error"], lambda: bundle.call(step["call"], inputs))
        return
    outputs = bundle.call(step["call"], inputs)
    assert outputs.keys() == step["outputs"].keys(), (outputs.keys(), step["outputs"].keys())
    for name, item in step["outputs"].items():
        _compare(outputs[name], item, case)


def _must_fail(kind: str, work: Any) -> None:
    expected = getattr(errors, kind if kind.endswith("Error") else f"{kind}Error")
    try:
        work()
    except expected:
        return
    raise AssertionError(f"it succeeded, expected {kind}")


def _array(item: dict[str, Any]) -> np.ndarray[Any, Any]:
    data = item["data"]
    if item["dtype"] == "string":
        return np.array(data, object).reshape(item["shape"])
    if item["dtype"] in ("int64", "uint64"):
        data = [int(x) for x in data]
    return np.array(data, item["dtype"]).reshape(item["shape"])


def _compare(found: np.ndarray[Any, Any], item: dict[str, Any], case: dict[str, Any]) -> None:
    expected = _array(item)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype), (found, expected)
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=case["rtol"], atol=case["atol"])
    else:
        assert found.tolist() == expected.tolist()
