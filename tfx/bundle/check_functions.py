"""The rules of functions, concrete functions, graphs and signatures.

Owns what a binding of a graph's inputs and outputs may be. Must not know of ONNX: whether the graph
file really has these inputs is checked on opening it. The one decision: every argument leaf, result
leaf and variable is bound at most once in a graph, and every result exactly once, so that a call
never has to choose.
"""

from __future__ import annotations

from tfx.bundle.check_values import (
    check_dtype,
    check_id,
    check_identifiers,
    check_name,
    check_shape,
    check_unique,
    check_value,
    compatible,
    fail,
)
from tfx.bundle.python_values import Shape, TensorInfo, Value, leaves
from tfx.bundle.records import (
    ConcreteFunctionEntry,
    FunctionEntry,
    GraphEntry,
    GraphInput,
    GraphOutput,
    Manifest,
    Parameter,
    Signature,
)

_ORDER = {
    "positional_only": 0,
    "positional_or_keyword": 1,
    "var_positional": 2,
    "keyword_only": 3,
    "var_keyword": 4,
}


def check_function(function: FunctionEntry, manifest: Manifest, where: str) -> None:
    """Check a callable: parameters as Python would take them, traces that exist."""
    check_name(function.name, where, "its name")
    check_identifiers((parameter.name for parameter in function.parameters), where, "parameter")
    _check_parameter_order(function.parameters, where)
    count = len(manifest.constants)
    for parameter in function.parameters:
        check_value(parameter.default, f"{where}, parameter {parameter.name!r}", count)
    if function.input_signature is not None:
        check_value(function.input_signature, f"{where}, input_signature", count)
    seen = set()
    for index in function.concrete_functions:
        check_id(
            index,
            len(manifest.concrete_functions),
            where,
            "a concrete function",
            "concrete functions",
        )
        if index in seen:
            fail(where, f"lists the concrete function {index} twice, expected it once")
        seen.add(index)


def _check_parameter_order(parameters: tuple[Parameter, ...], where: str) -> None:
    last: Parameter | None = None
    for item in parameters:
        starred = item.kind in ("var_positional", "var_keyword")
        if starred and item.has_default:
            fail(where, f"parameter {item.name!r} ({item.kind}) has a default, expected none")
        if last is not None:
            same = item.kind == last.kind
            if _ORDER[item.kind] < _ORDER[last.kind] or (starred and same):
                fail(
                    where,
                    f"parameter {item.name!r} ({item.kind}) follows {last.name!r} "
                    f"({last.kind}), expected the order of a Python signature",
                )
            if last.has_default and not item.has_default and _ORDER[item.kind] < 2:
                fail(
                    where,
                    f"parameter {item.name!r} has no default but follows {last.name!r}, "
                    "which has one; expected the order of a Python signature",
                )
        last = item


def check_concrete_function(
    concrete: ConcreteFunctionEntry, manifest: Manifest, where: str
) -> None:
    """Check one trace: its call structure, its leaves, its graphs."""
    check_name(concrete.name, where, "its name")
    _check_call_structure(concrete.arguments, where)
    constants = len(manifest.constants)
    _check_leaves(concrete.arguments, concrete.argument_leaves, constants, where, "argument")
    _check_leaves(concrete.result, concrete.result_leaves, constants, where, "result")
    _check_graph(concrete.graph, concrete, manifest, where)
    for other, what in ((concrete.live_graph, "live"), (concrete.gradient_graph, "gradient")):
        if other is not None:
            _check_other_form(other, what, concrete, manifest, where)


def _check_other_form(
    other: GraphEntry, what: str, concrete: ConcreteFunctionEntry, manifest: Manifest, where: str
) -> None:
    """Check a form with all variables as inputs; it must do what the stock form does."""
    if other.frozen_variables:
        fail(
            where,
            f"{what} graph {other.file!r} freezes {len(other.frozen_variables)} "
            "variables, expected them all as inputs",
        )
    _check_graph(other, concrete, manifest, where)
    written = _written(concrete.graph)
    if _written(other) != written:
        fail(
            where,
            f"{what} graph {other.file!r} writes the variables {sorted(_written(other))}, "
            f"graph {concrete.graph.file!r} writes {sorted(written)}; expected the same",
        )


def _check_call_structure(arguments: tuple[Value, ...], where: str) -> None:
    if (
        len(arguments) != 2
        or not isinstance(arguments[0], tuple)
        or not isinstance(arguments[1], dict)
        or not all(isinstance(key, str) for key in arguments[1])
    ):
        fail(
            where,
            f"arguments are {arguments!r:.200}, expected a tuple of positional arguments "
            "and a dict of keyword arguments by name",
        )


def _check_leaves(
    value: Value, specs: tuple[TensorInfo, ...], constants: int, where: str, what: str
) -> None:
    check_value(value, f"{where}, {what}s", constants, leaves_allowed=True)
    for index, spec in enumerate(specs):
        check_dtype(spec.dtype, f"{where}, {what} leaf {index}")
        check_shape(spec.shape, f"{where}, {what} leaf {index}")
    found = leaves(value)
    if sorted(found) != list(range(len(specs))):
        fail(
            where,
            f"its {what} structure has the leaves {found!r:.200}, expected each of 0 to "
            f"{len(specs) - 1} once, as {len(specs)} are described",
        )


def _check_graph(
    graph: GraphEntry, concrete: ConcreteFunctionEntry, manifest: Manifest, where: str
) -> None:
    at = f"{where}, graph {graph.file!r}"
    check_unique((item.name for item in graph.inputs), at, "input")
    check_unique((item.name for item in graph.outputs), at, "output")
    read: set[tuple[str, int]] = set()
    for item in graph.inputs:
        _check_input(item, concrete, manifest, f"{at}, input {item.name!r}")
        if (item.source, item.index) in read:
            fail(at, f"two inputs take {item.source} {item.index}, expected one")
        read.add((item.source, item.index))
    made: set[tuple[str, int]] = set()
    for out in graph.outputs:
        _check_output(out, concrete, manifest, f"{at}, output {out.name!r}")
        if (out.target, out.index) in made:
            fail(at, f"two outputs give {out.target} {out.index}, expected one")
        made.add((out.target, out.index))
    missing = [i for i in range(len(concrete.result_leaves)) if ("result", i) not in made]
    if missing:
        fail(at, f"no output gives the result leaves {missing!r:.200}, expected one for each")
    _check_frozen(graph, read, len(manifest.variables), at)


def _check_frozen(
    graph: GraphEntry, read: set[tuple[str, int]], variables: int, where: str
) -> None:
    taken = [item.name for item in graph.inputs] + [item.name for item in graph.frozen_variables]
    check_unique(taken, where, "input or initializer")
    live = {index for source, index in read if source == "variable"} | _written(graph)
    for item in graph.frozen_variables:
        check_id(item.variable, variables, where, f"initializer {item.name!r}", "variables")
        if item.variable in live:
            fail(
                where,
                f"initializer {item.name!r} freezes variable {item.variable}, which the graph "
                "also reads or writes as a live one; expected one of the two",
            )


def _check_input(
    item: GraphInput, concrete: ConcreteFunctionEntry, manifest: Manifest, where: str
) -> None:
    if item.source == "argument":
        check_id(
            item.index, len(concrete.argument_leaves), where, "the argument", "argument leaves"
        )
        leaf = concrete.argument_leaves[item.index]
        _check_same(item, leaf.dtype, leaf.shape, where, "argument leaf")
    elif item.source == "variable":
        check_id(item.index, len(manifest.variables), where, "the variable", "variables")
        variable = manifest.variables[item.index]
        _check_same(item, variable.dtype, variable.shape, where, "variable")
    else:
        check_id(item.index, len(manifest.constants), where, "the constant", "constants")
        constant = manifest.constants[item.index]
        _check_same(item, constant.dtype, constant.shape, where, "constant")


def _check_output(
    item: GraphOutput, concrete: ConcreteFunctionEntry, manifest: Manifest, where: str
) -> None:
    if item.target == "result":
        check_id(item.index, len(concrete.result_leaves), where, "the result", "result leaves")
        leaf = concrete.result_leaves[item.index]
        _check_same(item, leaf.dtype, leaf.shape, where, "result leaf")
    else:
        check_id(item.index, len(manifest.variables), where, "the variable", "variables")
        variable = manifest.variables[item.index]
        _check_same(item, variable.dtype, variable.shape, where, "variable")


def _check_same(
    item: GraphInput | GraphOutput, dtype: str, shape: Shape, where: str, what: str
) -> None:
    check_dtype(item.dtype, where)
    check_shape(item.shape, where)
    if item.dtype != dtype or not compatible(item.shape, shape):
        fail(
            where,
            f"is {item.dtype} of shape {item.shape!r}, but its {what} {item.index} is "
            f"{dtype} of shape {shape!r}",
        )


def _written(graph: GraphEntry) -> set[int]:
    return {item.index for item in graph.outputs if item.target == "variable"}


def check_signature(signature: Signature, manifest: Manifest, where: str) -> None:
    """Check a signature: every argument leaf has a name, every name a leaf."""
    check_id(
        signature.concrete_function,
        len(manifest.concrete_functions),
        where,
        "its concrete function",
        "concrete functions",
    )
    concrete = manifest.concrete_functions[signature.concrete_function]
    check_unique((item.name for item in signature.inputs), where, "input")
    check_unique((item.name for item in signature.outputs), where, "output")
    given = sorted(item.leaf for item in signature.inputs)
    wanted = list(range(len(concrete.argument_leaves)))
    if given != wanted:
        fail(
            where,
            f"its inputs name the argument leaves {given!r:.200}, expected each of the "
            f"{len(wanted)} leaves of concrete function {concrete.name!r} once",
        )
    for item in signature.outputs:
        check_id(
            item.leaf,
            len(concrete.result_leaves),
            where,
            f"the leaf of output {item.name!r}",
            "result leaves",
        )
