"""Bundles made by hand, with onnx.helper, for the tests of the readers.

Owns a sample model (readers, a train step, string and bfloat16 signatures over shared
variables) and the writing of any other. Knows nothing of the exporters: a reader that were only
tested with what our exporters write could share their mistakes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import helper

from tfx.bundle.atomic_folder import AtomicDirectory
from tfx.bundle.dtypes import BY_NAME, from_numpy
from tfx.bundle.files import file_entry
from tfx.bundle.manifest import (
    MANIFEST_NAME,
    ConcreteFunctionEntry,
    ConstantEntry,
    FrozenVariable,
    GraphEntry,
    GraphInput,
    GraphOutput,
    Leaf,
    Manifest,
    ObjectNode,
    Requirements,
    Shape,
    Signature,
    SignatureTensor,
    TensorInfo,
    VariableEntry,
    manifest_bytes,
)
from tfx.bundle.shards import WrittenStore, write_store

OPSET = 21
Arrays = Mapping[str, np.ndarray[Any, Any]]
Tensor = tuple[str, str, Shape]


@dataclass
class Function:
    """A signature to write: graph names of variables are the variables' own names.

    ``frozen`` variables are initializers, ``live`` ones inputs; ``updates`` maps outputs to the
    variables that they replace; ``constants`` are inputs fed from the manifest.
    """

    name: str
    nodes: Sequence[onnx.NodeProto]
    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]
    frozen: Sequence[str] = ()
    live: Sequence[str] = ()
    updates: Mapping[str, str] = field(default_factory=dict)
    constants: Sequence[str] = ()
    has_live_form: bool = False
    functions: Sequence[onnx.FunctionProto] = ()


def value_info(name: str, dtype: str, shape: Shape) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, BY_NAME[dtype].number, shape)


class Writer:
    """Writes the files of one bundle into ``folder``."""

    def __init__(
        self, folder: Path, variables: Arrays, constants: Arrays, shapes: Mapping[str, Shape]
    ) -> None:
        self.folder = folder
        self.arrays = dict(variables)
        self.store: WrittenStore = write_store(folder, variables)
        self.variables = tuple(
            VariableEntry(
                name, _dtype(array), shapes.get(name, array.shape), self.store.tensors[name].storage
            )
            for name, array in variables.items()
        )
        self.constants = tuple(
            ConstantEntry(name, _dtype(array), array.shape, inline=array.tobytes())
            for name, array in constants.items()
        )
        self.files = list(self.store.files)

    def initializer(self, name: str) -> onnx.TensorProto:
        array = self.arrays[name]
        dtype = _dtype(array)
        if dtype == "string" or not array.size:
            data = [t.encode() for t in array.ravel()] if dtype == "string" else []
            return helper.make_tensor(name, BY_NAME[dtype].number, array.shape, data)
        place = self.store.tensors[name]
        return external_tensor(
            name,
            BY_NAME[dtype].number,
            array.shape,
            place.storage.file,
            place.entry.offset,
            place.entry.nbytes,
        )

    def model(self, function: Function, *, live: bool) -> onnx.ModelProto:
        entries = {item.name: item for item in self.variables}
        fed = [*function.live, *(function.frozen if live else ())]
        inputs = [value_info(*item) for item in function.inputs]
        inputs += [value_info(n, entries[n].dtype, entries[n].shape) for n in fed]
        inputs += [
            value_info(c.name, c.dtype, c.shape)
            for c in self.constants
            if c.name in function.constants
        ]
        outputs = [value_info(*item) for item in function.outputs]
        outputs += [
            value_info(o, entries[v].dtype, entries[v].shape) for o, v in function.updates.items()
        ]
        initializers = [] if live else [self.initializer(n) for n in function.frozen]
        graph = helper.make_graph(
            list(function.nodes), function.name, inputs, outputs, initializers
        )
        return make_model(graph, function.functions)

    def graph(self, function: Function, file: str, *, live: bool) -> GraphEntry:
        numbers = {item.name: i for i, item in enumerate(self.variables)}
        model = self.model(function, live=live)
        (self.folder / file).write_bytes(model.SerializeToString())
        self.files.append(file_entry(self.folder, file))
        fed = [*function.live, *(function.frozen if live else ())]
        inputs = [GraphInput(n, d, s, "argument", i) for i, (n, d, s) in enumerate(function.inputs)]
        inputs += [
            GraphInput(
                n,
                self.variables[numbers[n]].dtype,
                self.variables[numbers[n]].shape,
                "variable",
                numbers[n],
            )
            for n in fed
        ]
        inputs += [
            GraphInput(c.name, c.dtype, c.shape, "constant", i)
            for i, c in enumerate(self.constants)
            if c.name in function.constants
        ]
        outputs = [
            GraphOutput(n, d, s, "result", i) for i, (n, d, s) in enumerate(function.outputs)
        ]
        outputs += [
            GraphOutput(
                o,
                self.variables[numbers[v]].dtype,
                self.variables[numbers[v]].shape,
                "variable",
                numbers[v],
            )
            for o, v in function.updates.items()
        ]
        frozen = () if live else tuple(FrozenVariable(n, numbers[n]) for n in function.frozen)
        return GraphEntry(file, tuple(inputs), tuple(outputs), frozen)

    def concrete(self, function: Function) -> ConcreteFunctionEntry:
        live = None
        if function.has_live_form:
            live = self.graph(function, f"{function.name}.live.onnx", live=True)
        return ConcreteFunctionEntry(
            name=function.name,
            arguments=(tuple(Leaf(i) for i in range(len(function.inputs))), {}),
            result=[Leaf(i) for i in range(len(function.outputs))],
            argument_leaves=tuple(TensorInfo(d, s, n) for n, d, s in function.inputs),
            result_leaves=tuple(TensorInfo(d, s, n) for n, d, s in function.outputs),
            graph=self.graph(function, f"{function.name}.onnx", live=False),
            live_graph=live,
        )


def make_model(
    graph: onnx.GraphProto, functions: Sequence[onnx.FunctionProto] = ()
) -> onnx.ModelProto:
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10, functions=list(functions))


def external_tensor(
    name: str, number: int, dims: Sequence[int], location: Any, offset: Any, length: Any
) -> onnx.TensorProto:
    tensor = onnx.TensorProto(
        name=name, data_type=number, dims=dims, data_location=onnx.TensorProto.EXTERNAL
    )
    for key, text in (("location", location), ("offset", offset), ("length", length)):
        if text is not None:
            tensor.external_data.add(key=key, value=str(text))
    return tensor


def _dtype(array: np.ndarray[Any, Any]) -> str:
    row = from_numpy(array.dtype)
    assert row is not None
    return row.name


def write_bundle(
    path: Path,
    variables: Arrays,
    functions: Sequence[Function],
    *,
    constants: Arrays | None = None,
    shapes: Mapping[str, Shape] | None = None,
) -> Path:
    """Write a bundle whose signatures are ``functions``."""
    with AtomicDirectory(path) as folder:
        writer = Writer(folder, variables, constants or {}, shapes or {})
        concretes = tuple(writer.concrete(item) for item in functions)
        signatures = tuple(
            Signature(
                item.name,
                i,
                tuple(SignatureTensor(n, leaf) for leaf, (n, _, _) in enumerate(item.inputs)),
                tuple(SignatureTensor(n, leaf) for leaf, (n, _, _) in enumerate(item.outputs)),
            )
            for i, item in enumerate(functions)
        )
        manifest = Manifest(
            producer="tests",
            producer_version="1",
            requirements=Requirements(OPSET, 10),
            files=tuple(sorted(writer.files, key=lambda item: item.path)),
            variables=writer.variables,
            constants=writer.constants,
            objects=(ObjectNode("object"),),
            concrete_functions=concretes,
            signatures=signatures,
        )
        (folder / MANIFEST_NAME).write_bytes(manifest_bytes(manifest))
    return path


def rewrite(bundle: Path, change: Any = None) -> None:
    """Make the manifest true again after a file was changed by hand: sizes and hashes.

    ``change`` maps the manifest to another one, for a manifest that lies.
    """
    from tfx.bundle.manifest import read_manifest

    manifest = read_manifest(bundle)
    files = tuple(file_entry(bundle, item.path) for item in manifest.files)
    manifest = replace(manifest, files=files)
    if change is not None:
        manifest = change(manifest)
    (bundle / MANIFEST_NAME).write_bytes(manifest_bytes(manifest))


def edit_model(bundle: Path, file: str, edit: Any) -> None:
    """Change an ONNX file in place, and the manifest with it."""
    model = onnx.load_model(bundle / file, load_external_data=False)
    edit(model)
    (bundle / file).write_bytes(model.SerializeToString())
    rewrite(bundle)


def node(
    op: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any
) -> onnx.NodeProto:
    return helper.make_node(
        op, list(inputs), list(outputs), name=f"{op}_{outputs[0]}", **attributes
    )


def constant(name: str, value: Any) -> onnx.NodeProto:
    return node("Constant", [], [name], value=onnx.numpy_helper.from_array(np.asarray(value)))


X: Tensor = ("x", "float32", ("batch", 4))
LOGITS: Tensor = ("logits", "float32", ("batch", 3))


def sample_variables() -> dict[str, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(7)
    return {
        "dense/kernel": rng.standard_normal((4, 3)).astype(np.float32),
        "dense/bias": rng.standard_normal(3).astype(np.float32),
        "count": np.array(0, np.int64),
        "labels": np.array(["zero", "one", "twö"], object),
        "half": rng.standard_normal(4).astype(ml_dtypes.bfloat16),
        "empty": np.zeros((0, 2), np.float32),
    }


def _train_step() -> Function:
    """loss = mean((x @ kernel + bias - y)**2), one step of gradient descent, count += 1."""
    nodes = [
        node("MatMul", ["x", "dense/kernel"], ["xk"]),
        node("Add", ["xk", "dense/bias"], ["logits"]),
        node("Sub", ["logits", "y"], ["error"]),
        node("Mul", ["error", "error"], ["square"]),
        node("ReduceMean", ["square"], ["loss"], keepdims=0),
        node("Shape", ["error"], ["shape"]),
        node("ReduceProd", ["shape"], ["elements"], keepdims=0),
        node("Cast", ["elements"], ["n"], to=1),
        constant("two", np.float32(2)),
        node("Div", ["two", "n"], ["scale"]),
        node("Mul", ["error", "scale"], ["gradient"]),
        node("Transpose", ["x"], ["xt"], perm=[1, 0]),
        node("MatMul", ["xt", "gradient"], ["dkernel"]),
        constant("axis", np.array([0], np.int64)),
        node("ReduceSum", ["gradient", "axis"], ["dbias"], keepdims=0),
        node("Mul", ["dkernel", "rate"], ["stepk"]),
        node("Mul", ["dbias", "rate"], ["stepb"]),
        node("Sub", ["dense/kernel", "stepk"], ["kernel_new"]),
        node("Sub", ["dense/bias", "stepb"], ["bias_new"]),
        constant("one", np.int64(1)),
        node("Add", ["count", "one"], ["count_new"]),
    ]
    return Function(
        "train_step",
        nodes,
        [X, ("y", "float32", ("batch", 3)), ("rate", "float32", ())],
        [("loss", "float32", ())],
        live=["dense/kernel", "dense/bias", "count"],
        updates={"kernel_new": "dense/kernel", "bias_new": "dense/bias", "count_new": "count"},
    )


def sample_functions() -> list[Function]:
    dense = [
        node("MatMul", ["x", "dense/kernel"], ["xk"]),
        node("Add", ["xk", "dense/bias"], ["logits"]),
    ]
    return [
        Function(
            "serving_default",
            dense,
            [X],
            [LOGITS],
            ["dense/kernel", "dense/bias"],
            has_live_form=True,
        ),
        # Without a live form, and folded: Exp(bias) does not depend on an input.
        Function(
            "scaled",
            [node("Exp", ["dense/bias"], ["e"]), node("Mul", ["y", "e"], ["scaled"])],
            [("y", "float32", (None, 3))],
            [("scaled", "float32", (None, 3))],
            ["dense/bias"],
        ),
        _train_step(),
        Function(
            "greet",
            [
                node("StringConcat", ["names", "suffix"], ["greeting"]),
                node("Identity", ["labels"], ["known"]),
            ],
            [("names", "string", (None,)), ("suffix", "string", ())],
            [("greeting", "string", (None,)), ("known", "string", (3,))],
            ["labels"],
        ),
        Function(
            "halve",
            [
                node("Cast", ["h"], ["h32"], to=1),
                node("Cast", ["half"], ["half32"], to=1),
                node("Mul", ["h32", "half32"], ["product"]),
                node("Cast", ["product"], ["out"], to=16),
            ],
            [("h", "bfloat16", (4,))],
            [("out", "bfloat16", (4,))],
            ["half"],
        ),
        Function(
            "shift",
            [node("Add", ["i", "offset"], ["shifted"]), node("Identity", ["empty"], ["nothing"])],
            [("i", "int32", ("n",))],
            [("shifted", "int32", ("n",)), ("nothing", "float32", (0, 2))],
            ["empty"],
            constants=["offset"],
        ),
        Function("ping", [constant("pong", np.float32(1.5))], [], [("pong", "float32", ())]),
    ]


def sample_bundle(path: Path) -> Path:
    """Write the sample model."""
    return write_bundle(
        path,
        sample_variables(),
        sample_functions(),
        constants={"offset": np.array(10, np.int32)},
    )
