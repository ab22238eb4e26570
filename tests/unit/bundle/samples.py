"""A manifest that uses every record of the format, for the tests of this folder."""

from __future__ import annotations

import dataclasses
from typing import Any

from tfx.bundle.manifest import (
    AssetEntry,
    Child,
    ConcreteFunctionEntry,
    ConstantEntry,
    ConstantRef,
    DTypeValue,
    FileEntry,
    FrozenVariable,
    FunctionEntry,
    GraphEntry,
    GraphInput,
    GraphOutput,
    Leaf,
    Manifest,
    ObjectNode,
    Opaque,
    Parameter,
    Record,
    Requirements,
    ShapeValue,
    Signature,
    SignatureTensor,
    Storage,
    TableEntry,
    TensorInfo,
    VariableEntry,
)

WEIGHTS = "variables/model.safetensors"
ATTRIBUTES = ("layers", "options", "pair", "kernel", "call", "scale", "vocab", "table")
IMAGE = TensorInfo("float32", ("batch", 8, 8), "image")
LOGITS = TensorInfo("float32", ("batch", 10), "logits")


def _files() -> tuple[FileEntry, ...]:
    forms = ("serving_default.gradient.onnx", "serving_default.live.onnx", "serving_default.onnx")
    paths = ("assets/vocab.txt", *forms, WEIGHTS)
    return tuple(FileEntry(path, 100 + i, bytes([i]) * 32) for i, path in enumerate(paths))


def _predict() -> ConcreteFunctionEntry:
    image = GraphInput("image", "float32", ("batch", 8, 8), "argument", 0)
    scale = GraphInput("scale", "float32", (), "constant", 0)
    kernel = GraphInput("kernel", "float32", (64, 10), "variable", 0)
    logits = GraphOutput("logits", "float32", ("batch", 10), "result", 0)
    count = GraphOutput("count_out", "int64", (), "variable", 1)
    return ConcreteFunctionEntry(
        name="predict",
        arguments=((Leaf(0), True), {"dtype": DTypeValue("float32"), "shape": ShapeValue(None)}),
        result={"logits": Leaf(0), "nothing": None},
        argument_leaves=(IMAGE,),
        result_leaves=(LOGITS,),
        graph=GraphEntry(
            "serving_default.onnx",
            (image, scale),
            (logits, count),
            (FrozenVariable("kernel", 0),),
        ),
        live_graph=GraphEntry("serving_default.live.onnx", (image, scale, kernel), (logits, count)),
        gradient_graph=GraphEntry(
            "serving_default.gradient.onnx", (image, scale, kernel), (logits, count)
        ),
    )


def _objects() -> tuple[ObjectNode, ...]:
    return (
        ObjectNode(
            "object",
            (
                *(Child(name, node) for node, name in enumerate(ATTRIBUTES, 1)),
                Child("units", 9),
                Child("me", 0),
            ),
            class_name="Model",
            metadata={"trained": True, "history": [1, 2.5, None, "x"]},
        ),
        ObjectNode("list", (Child("0", 3), Child("1", 4))),
        ObjectNode("dict", (Child("a", 4), Child("7", 1, 7), Child("", 9))),
        ObjectNode("tuple", (Child("0", 4), Child("1", 2)), field_names=("left", "right")),
        ObjectNode("variable", target=0),
        ObjectNode("function", target=0),
        ObjectNode("constant", target=0),
        ObjectNode("asset", target=0),
        ObjectNode("table", target=0),
        ObjectNode("value", value=[64, -(1 << 80), 1.5, 1j, "x", b"\0", (None,), {"k": False}]),
    )


def _function() -> FunctionEntry:
    return FunctionEntry(
        "predict",
        (
            Parameter("image"),
            Parameter("training", has_default=True, default=None),
            Parameter("rest", "var_positional"),
            Parameter("dtype", "keyword_only", True, DTypeValue("float32")),
            Parameter(
                "config",
                "keyword_only",
                True,
                Record("Config", (("rate", 0.5), ("scale", ConstantRef(0)))),
            ),
            Parameter("act", "keyword_only", True, Opaque("function", "<function relu>")),
            Parameter("options", "var_keyword"),
        ),
        (0,),
        (IMAGE, [TensorInfo("int32", None)]),
        "Classify images.",
    )


def full_manifest(**changes: Any) -> Manifest:
    """Return the sample, with some of its fields replaced."""
    manifest = Manifest(
        producer="tfx-onnx",
        producer_version="0.1.0",
        requirements=Requirements(21, 10, {"com.microsoft": 1}),
        files=_files(),
        variables=(
            VariableEntry("dense/kernel", "float32", (64, 10), Storage(WEIGHTS, "dense/kernel")),
            VariableEntry(
                "count",
                "int64",
                (),
                Storage(WEIGHTS, "count"),
                trainable=False,
                synchronization="on_read",
                aggregation="sum",
                device="/CPU:0",
            ),
        ),
        constants=(
            ConstantEntry("scale", "float32", (), inline=bytes(4)),
            ConstantEntry("words", "string", (2,), storage=Storage(WEIGHTS, "words")),
            ConstantEntry("ids", "int64", (2,), inline=bytes(16)),
        ),
        assets=(AssetEntry("assets/vocab.txt"),),
        tables=(TableEntry("vocab", 1, 2, default_value=0, oov_buckets=3, is_mutable=True),),
        objects=_objects(),
        functions=(_function(),),
        concrete_functions=(_predict(),),
        signatures=(
            Signature(
                "serving_default",
                0,
                (SignatureTensor("image", 0),),
                (SignatureTensor("logits", 0),),
            ),
        ),
        metadata={"author": "Ada", "about": "digits"},
    )
    return dataclasses.replace(manifest, **changes)
