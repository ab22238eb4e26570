"""Each rule of functions, graphs and signatures, broken once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.bundle.samples import IMAGE, full_manifest
from tfx.bundle.check import check_manifest
from tfx.bundle.manifest import (
    FrozenVariable,
    GraphInput,
    GraphOutput,
    Leaf,
    Manifest,
    Parameter,
    ShapeValue,
    Signature,
    SignatureTensor,
    TensorInfo,
)
from tfx.core.errors import BundleError

BASE = full_manifest()
CONCRETE = BASE.concrete_functions[0]
SIGNATURE = BASE.signatures[0]
LOGITS, COUNT = CONCRETE.graph.outputs
FEED, SCALE = CONCRETE.graph.inputs


def function(**changes: Any) -> Manifest:
    return replace(BASE, functions=(replace(BASE.functions[0], **changes),))


def parameters(*items: Parameter) -> Manifest:
    return function(parameters=items)


def concrete(**changes: Any) -> Manifest:
    return replace(BASE, concrete_functions=(replace(CONCRETE, **changes),))


def graph(**changes: Any) -> Manifest:
    return concrete(graph=replace(CONCRETE.graph, **changes))


def live(**changes: Any) -> Manifest:
    assert CONCRETE.live_graph is not None
    return concrete(live_graph=replace(CONCRETE.live_graph, **changes))


def gradient(**changes: Any) -> Manifest:
    assert CONCRETE.live_graph is not None
    return concrete(gradient_graph=replace(CONCRETE.live_graph, **changes))


def signature(**changes: Any) -> Manifest:
    return replace(BASE, signatures=(replace(SIGNATURE, **changes),))


FUNCTIONS = [
    (function(name=""), "its name is empty"),
    (function(concrete_functions=(1,)), "a concrete function is 1, but the bundle has"),
    (function(concrete_functions=(0, 0)), "the concrete function 0 twice"),
    (function(input_signature=(Leaf(0),)), "input_signature: has the tensor leaf"),
    (parameters(Parameter("a"), Parameter("a")), "two of its parameter entries"),
    (parameters(Parameter("not ok")), "expected a Python identifier"),
    (parameters(Parameter("a", default=Leaf(0), has_default=True)), "parameter 'a': has the tens"),
    (
        parameters(Parameter("a", "var_keyword"), Parameter("b")),
        "'b' .positional_or_keyword. follows 'a' .var_keyword.",
    ),
    (parameters(Parameter("a", "var_positional", True)), "has a default, expected none"),
    (
        parameters(Parameter("a", "var_positional"), Parameter("b", "var_positional")),
        "the order of a Python signature",
    ),
    (parameters(Parameter("a", has_default=True), Parameter("b")), "has no default but follows"),
]
CONCRETES = [
    (concrete(name=""), "its name is empty"),
    (concrete(arguments=()), "expected a tuple of positional arguments and a dict"),
    (concrete(arguments=((Leaf(0),), ())), "expected a tuple of positional"),
    (concrete(arguments=((Leaf(0),), {1: 2})), "keyword arguments by name"),
    (concrete(arguments=((), {})), r"has the leaves \[\], expected each of 0 to 0 once"),
    (concrete(arguments=((Leaf(0), Leaf(0)), {})), r"leaves \[0, 0\]"),
    (concrete(arguments=((Leaf(1),), {})), r"leaves \[1\]"),
    (concrete(argument_leaves=(IMAGE, IMAGE)), "2 are described"),
    (concrete(argument_leaves=(TensorInfo("f", ()),)), "argument leaf 0: dtype is 'f'"),
    (concrete(result=[]), r"its result structure has the leaves \[\]"),
    (concrete(result=[Leaf(0), ShapeValue((-1,))]), "results: shape"),
    (graph(file="gone.onnx"), "uses the file 'gone.onnx'"),
    (live(file="gone.onnx"), "uses the file 'gone.onnx'"),
    (live(file="../up.onnx"), "is not allowed"),
]
GRAPHS = [
    (graph(inputs=(FEED, replace(SCALE, name="image"))), "two of its input entries"),
    (graph(inputs=(FEED, replace(FEED, name="again"), SCALE)), "two inputs take argument 0"),
    (graph(inputs=(replace(FEED, index=1),)), "the argument is 1, but"),
    (graph(inputs=(replace(SCALE, index=9),)), "the constant is 9, but"),
    (graph(inputs=(GraphInput("v", "int64", (), "variable", 2),)), "the variable is 2, but"),
    (
        graph(inputs=(replace(FEED, dtype="float64"),)),
        "input 'image': is float64 .* but its argument leaf 0 is float32",
    ),
    (graph(inputs=(replace(FEED, shape=(None, 9, 8)),)), "but its argument leaf 0"),
    (
        graph(inputs=(GraphInput("v", "int32", (), "variable", 1),)),
        "is int32 .* but its variable 1 is int64",
    ),
    (graph(inputs=(replace(SCALE, shape=(3,)),)), "but its constant 0"),
    (graph(outputs=(COUNT,)), r"no output gives the result leaves \[0\]"),
    (graph(outputs=(LOGITS, replace(LOGITS, name="b"))), "two outputs give result 0"),
    (graph(outputs=(LOGITS, replace(LOGITS, index=1, name="b"))), "the result is 1, but"),
    (graph(outputs=(LOGITS, replace(COUNT, name="logits"))), "two of its output entries"),
    (graph(outputs=(LOGITS, replace(COUNT, index=7))), "the variable is 7, but"),
    (graph(outputs=(replace(LOGITS, dtype="int64"), COUNT)), "but its result leaf 0"),
    (
        graph(outputs=(LOGITS, GraphOutput("c", "float32", (), "variable", 1))),
        "but its variable 1 is int64",
    ),
    (graph(frozen_variables=(FrozenVariable("w", 5),)), "initializer 'w' is 5, but"),
    (graph(frozen_variables=(FrozenVariable("image", 0),)), "two of its input or initializer"),
    (graph(frozen_variables=(FrozenVariable("c", 1),)), "which the graph also reads or writes"),
    (
        graph(
            inputs=(GraphInput("v", "float32", (64, 10), "variable", 0),),
        ),
        "freezes variable 0, which the graph also",
    ),
    (live(frozen_variables=(FrozenVariable("k", 0),)), "freezes 1 variables, expected them all"),
    (live(outputs=(LOGITS,)), r"writes the variables \[\], graph .* writes \[1\]"),
    (gradient(file="gone.onnx"), "uses the file 'gone.onnx'"),
    (gradient(frozen_variables=(FrozenVariable("k", 0),)), "gradient graph .* freezes 1 variables"),
    (gradient(outputs=(LOGITS,)), r"gradient graph .* writes the variables \[\], graph .* \[1\]"),
]
SIGNATURES = [
    (replace(BASE, signatures=(SIGNATURE, SIGNATURE)), "two of its signature entries"),
    (signature(name=""), "the name of a signature is empty"),
    (signature(concrete_function=1), "its concrete function is 1"),
    (signature(inputs=()), r"name the argument leaves \[\], expected each of the 1"),
    (signature(inputs=(SignatureTensor("image", 1),)), r"leaves \[1\]"),
    (signature(inputs=(SignatureTensor("", 0),)), "the name of a input is empty"),
    (signature(outputs=(SignatureTensor("logits", 4),)), "the leaf of output 'logits' is 4"),
    (
        signature(outputs=(SignatureTensor("a", 0), SignatureTensor("a", 0))),
        "two of its output entries",
    ),
]


@pytest.mark.parametrize(("manifest", "message"), FUNCTIONS + CONCRETES + GRAPHS + SIGNATURES)
def test_a_broken_rule_is_named_with_file_and_place(manifest: Manifest, message: str) -> None:
    with pytest.raises(BundleError, match=rf"^m: .*{message}"):
        check_manifest(manifest, "m")


def test_keyword_only_parameters_may_lack_defaults_after_ones_that_have_them() -> None:
    check_manifest(
        parameters(
            Parameter("a", "positional_only", True, 1),
            Parameter("b", has_default=True, default=2),
            Parameter("rest", "var_positional"),
            Parameter("c", "keyword_only", True, 3),
            Parameter("d", "keyword_only"),
            Parameter("more", "var_keyword"),
        ),
        "m",
    )


def test_a_signature_may_offer_only_some_of_the_results() -> None:
    check_manifest(signature(outputs=()), "m")


def test_an_argument_that_the_graph_does_not_use_is_no_mistake() -> None:
    check_manifest(graph(inputs=(SCALE,)), "m")


def test_leaves_may_be_numbered_in_any_order() -> None:
    check_manifest(
        replace(
            BASE,
            concrete_functions=(
                replace(
                    CONCRETE,
                    arguments=(({"b": Leaf(1), "a": Leaf(0)},), {}),
                    argument_leaves=(IMAGE, IMAGE),
                ),
            ),
            signatures=(Signature("s", 0, (SignatureTensor("b", 1), SignatureTensor("a", 0))),),
        ),
        "m",
    )
