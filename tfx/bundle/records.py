"""The records of the manifest: what a bundle consists of, as plain immutable facts.

Owns the names and meanings of the fields. Must not know of protobuf (``codec``) nor of what makes a
manifest valid (``check``). The one decision: an id is a position in the manifest's list of that
kind, so a record refers to another by a plain int, and nothing needs to be resolved while reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tfx.bundle.python_values import Shape, TensorInfo, Value

FORMAT_VERSION = 1

# Kinds are numbers in the file, in this order: new ones come last.
NodeKind: TypeAlias = Literal[
    "object",
    "list",
    "dict",
    "tuple",
    "variable",
    "function",
    "constant",
    "asset",
    "table",
    "value",
]
ParameterKind: TypeAlias = Literal[
    "positional_only",
    "positional_or_keyword",
    "var_positional",
    "keyword_only",
    "var_keyword",
]
InputSource: TypeAlias = Literal["argument", "variable", "constant"]
OutputTarget: TypeAlias = Literal["result", "variable"]


@dataclass(frozen=True, slots=True)
class Requirements:
    """Requirements on a reader: ONNX versions, operator domains, and format features by name."""

    opset: int = 0
    ir_version: int = 0
    domains: Mapping[str, int] = field(default_factory=dict)
    features: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of the bundle (all but ``bundle.pb``).

    Attributes:
        path: Inside the bundle.
        size: In bytes.
        sha256: 32 raw bytes.
        crc32: The CRC-32 of each piece of the file, see ``piece_checksums``; empty: not known.
    """

    path: str
    size: int
    sha256: bytes
    crc32: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Storage:
    """The location of a tensor's bytes: the tensor ``key`` of the safetensors file ``file``."""

    file: str
    key: str


@dataclass(frozen=True, slots=True)
class VariableEntry:
    """A variable; ``shape`` is what it may take, the stored value's shape is the file's to say."""

    name: str
    dtype: str
    shape: Shape
    storage: Storage
    trainable: bool = True
    synchronization: str = ""
    aggregation: str = ""
    device: str = ""


@dataclass(frozen=True, slots=True)
class ConstantEntry:
    """A constant tensor: small ones hold their bytes ``inline``, others are in a ``storage``."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    inline: bytes | None = None
    storage: Storage | None = None


@dataclass(frozen=True, slots=True)
class AssetEntry:
    """A file that the program reads by its path (a vocabulary)."""

    file: str


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A lookup table as its content; ``keys``, ``values``, ``default_value``: constant ids."""

    name: str
    keys: int
    values: int
    default_value: int | None = None
    oov_buckets: int = 0
    is_mutable: bool = False


@dataclass(frozen=True, slots=True)
class Child:
    """An edge of the object graph; ``key`` is a dict's key where that is not the str ``name``."""

    name: str
    node: int
    key: bool | int | float | bytes | None = None


@dataclass(frozen=True, slots=True)
class ObjectNode:
    """One object of the object graph; node 0 is the root.

    Attributes:
        kind: What it is. Only ``object``, ``list``, ``dict`` and ``tuple`` have children; those of
            a list or tuple are named "0", "1", ...
        children: Edges to other nodes, in order.
        target: The id of the variable, function, constant, asset or table.
        value: For kind ``value``: the plain Python value (no leaves).
        field_names: For a named tuple, one name for each child.
        class_name: What it was when saved. Information for people: never imported.
        metadata: Anything that JSON can hold.
    """

    kind: NodeKind
    children: tuple[Child, ...] = ()
    target: int | None = None
    value: Value = None
    field_names: tuple[str, ...] = ()
    class_name: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a Python function; ``default`` counts only if ``has_default``."""

    name: str
    kind: ParameterKind = "positional_or_keyword"
    has_default: bool = False
    default: Value = None


@dataclass(frozen=True, slots=True)
class FunctionEntry:
    """A callable: its parameters (without ``self``) and its traces in the order to try them.

    ``input_signature`` is a tuple of structures of ``TensorInfo``, or None where none was given.
    """

    name: str
    parameters: tuple[Parameter, ...] = ()
    concrete_functions: tuple[int, ...] = ()
    input_signature: tuple[Value, ...] | None = None
    doc: str = ""


@dataclass(frozen=True, slots=True)
class GraphInput:
    """An input of an ONNX graph and what to feed: ``index`` is a leaf number or an id."""

    name: str
    dtype: str
    shape: Shape
    source: InputSource
    index: int


@dataclass(frozen=True, slots=True)
class GraphOutput:
    """An output of an ONNX graph and what it is: a result leaf or a variable's new value."""

    name: str
    dtype: str
    shape: Shape
    target: OutputTarget
    index: int


@dataclass(frozen=True, slots=True)
class FrozenVariable:
    """The initializer ``name`` of a graph holds the saved value of the variable."""

    name: str
    variable: int


@dataclass(frozen=True, slots=True)
class GraphEntry:
    """An ONNX file, and what each of its inputs and outputs is, in the graph's own order."""

    file: str
    inputs: tuple[GraphInput, ...] = ()
    outputs: tuple[GraphOutput, ...] = ()
    frozen_variables: tuple[FrozenVariable, ...] = ()


@dataclass(frozen=True, slots=True)
class ConcreteFunctionEntry:
    """One trace of a function.

    Attributes:
        name: For people and messages.
        arguments: ``(args, kwargs)`` as a tuple and a dict in canonical form, with ``Leaf(i)`` for
            tensors and plain values for what the trace was specialised on.
        result: The structure of the result; None stands for itself.
        argument_leaves: Spec of each argument leaf, by number.
        result_leaves: Spec of each result leaf, by number.
        graph: The graph that stock ONNX Runtime serves; variables it only reads are initializers.
        live_graph: The same with every variable as an input; there when a frozen variable of
            ``graph`` may change.
        gradient_graph: The same with every variable as an input and with the gradients that parts
            of it have of their own; there when it has such parts. For differentiation only.
    """

    name: str
    arguments: tuple[Value, ...]
    result: Value
    argument_leaves: tuple[TensorInfo, ...]
    result_leaves: tuple[TensorInfo, ...]
    graph: GraphEntry
    live_graph: GraphEntry | None = None
    gradient_graph: GraphEntry | None = None

    @property
    def graphs(self) -> tuple[GraphEntry, ...]:
        """All forms of the function."""
        found = (self.graph, self.live_graph, self.gradient_graph)
        return tuple(graph for graph in found if graph is not None)


@dataclass(frozen=True, slots=True)
class SignatureTensor:
    """A named input or output of a signature: a leaf number of its concrete function."""

    name: str
    leaf: int


@dataclass(frozen=True, slots=True)
class Signature:
    """A named entry point; its inputs cover every argument leaf of the concrete function."""

    name: str
    concrete_function: int
    inputs: tuple[SignatureTensor, ...] = ()
    outputs: tuple[SignatureTensor, ...] = ()


@dataclass(frozen=True, slots=True)
class ExampleCall:
    """One call of an example: where the tensors of its inputs and outputs are, by name."""

    inputs: Mapping[str, Storage] = field(default_factory=dict)
    outputs: Mapping[str, Storage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Example:
    """Calls of a signature, one after another, with what they gave.

    Attributes:
        signature: Its name.
        calls: The calls; the first works on the variables as they are stored.
        tolerance: How far floating-point numbers may be off.
        variables_sha256: Of the variables that it was made with, see ``examples``.
        is_given: Whether the program that saved gave the inputs; otherwise they were made up.
    """

    signature: str
    calls: tuple[ExampleCall, ...]
    tolerance: float = 1e-4
    variables_sha256: bytes = b""
    is_given: bool = False


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of ``bundle.pb``."""

    producer: str
    producer_version: str
    requirements: Requirements = field(default_factory=Requirements)
    files: tuple[FileEntry, ...] = ()
    variables: tuple[VariableEntry, ...] = ()
    constants: tuple[ConstantEntry, ...] = ()
    assets: tuple[AssetEntry, ...] = ()
    tables: tuple[TableEntry, ...] = ()
    objects: tuple[ObjectNode, ...] = ()
    functions: tuple[FunctionEntry, ...] = ()
    concrete_functions: tuple[ConcreteFunctionEntry, ...] = ()
    signatures: tuple[Signature, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    format_version: int = FORMAT_VERSION
    examples: tuple[Example, ...] = ()
