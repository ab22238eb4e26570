"""The reverse walk: from gradients of results to gradients of sources, one rule per operation.

Works on any sequence of ``OpRecord`` in program order. Gradients are computed with ordinary
operations, so an outer tape records them and a function under construction gets them as nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tfx.autodiff import indexed_slices_sums as sparse
from tfx.autodiff.formula_gradients import gradients_of
from tfx.autodiff.missing_gradients import source_of
from tfx.autodiff.straight_through import dependent, of_floats
from tfx.autodiff.where_masking import MASKING, Masks, mask_singular
from tfx.control_flow import sequences
from tfx.control_flow.sequence_gradients import Part, Whole, with_known
from tfx.core.errors import InternalError, NotFoundError
from tfx.core.source import bracketed
from tfx.framework.builder import ox
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.context import current, using
from tfx.framework.indexed_slices_rules import SLICE_RULES, makes_slices
from tfx.framework.node_names import one_place, other_places
from tfx.framework.rules import OpRecord, formula_of, rule_of
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import READ_VARIABLE
from tfx.ops.array.indexed_slices import dense

# Importing the families fills the rule table.
from tfx.ops.common import registration as registration

# Modules of rules that call no code of the user.
_OWN_RULES = "tfx.ops."
_HERE = nullcontext()
_OF_SEQUENCES = (Part, Whole)
_NOT_MASKED = (False, False)


def reachable(records: Iterable[OpRecord], sources: Iterable[int]) -> set[int]:
    """Ids of everything that depends on the sources (given by id), sources included."""
    found = set(sources)
    for record in records:
        for x in record.inputs:
            if id(x) in found:
                rounded = False
                for y in record.outputs:
                    if y.dtype.has_gradients:
                        found.add(id(y))
                    else:
                        rounded = True
                if rounded:
                    carried = dependent(record.op, record.inputs, record.outputs, found)
                    found.update(map(id, carried))
                break
    return found


def backpropagate(
    records: Sequence[OpRecord], gradients: dict[int, Tensor], sources: Sequence[Any]
) -> list[Tensor | None]:
    """Gradients of the sources, dense.

    Args:
        records: Operations in program order.
        gradients: Gradient of each result by the result's id; consumed.
        sources: Tensors and variables.

    Returns:
        For each source its gradient, or None where nothing depends on it.

    Raises:
        NotFoundError: an operator on the way has no rule.
    """
    return _walk(records, gradients, sources, None, slices=False)


def backpropagate_slices(
    records: Sequence[OpRecord],
    gradients: dict[int, Any],
    sources: Sequence[Any],
    relevant: Collection[int] | None = None,
) -> list[Tensor | IndexedSlices | None]:
    """The same; gradients of tensors of which rows were gathered are ``IndexedSlices``.

    ``relevant``: ids of the sources and all that depends on them, where that is known.
    """
    return _walk(records, gradients, sources, relevant, slices=True)


def _walk(
    records: Sequence[OpRecord],
    gradients: dict[int, Any],
    sources: Sequence[Any],
    relevant: Collection[int] | None,
    *,
    slices: bool,
) -> list[Any]:
    source_ids = {id(s) for s in sources}
    if relevant is None:
        relevant = reachable(records, source_ids)
    masks = Masks(gradients)
    with one_place(current().graph):
        _through_records(records, gradients, source_ids, relevant, masks, slices=slices)
    return [sparse.total(gradients.get(id(s))) for s in sources]


def _through_records(
    records: Sequence[OpRecord],
    gradients: dict[int, Any],
    source_ids: set[int],
    relevant: Collection[int],
    masks: Masks,
    *,
    slices: bool,
) -> None:
    graph = current().graph
    place = None if graph is None else graph.shared_name
    for record in reversed(records):
        dys: list[Any] = []
        missing = plain = True
        for y in record.outputs:
            dy = gradients.get(id(y))
            dys.append(dy)
            if dy is not None:
                missing = False
                plain = plain and isinstance(dy, Tensor)
        if missing:
            continue
        needs = tuple([id(x) in relevant for x in record.inputs])
        if True not in needs:
            continue
        if place is not None and graph is not None:  # a gradient belongs to its operation's layer
            graph.shared_name = place.of_layer(_layer_of(record))
        for y in record.outputs:
            if id(y) not in source_ids:
                gradients.pop(id(y), None)
        if record.op == "If":
            record = with_known(record, gradients)
        found: Any = NotImplemented
        if slices and (not plain or makes_slices(record.op)):
            found, dys = _by_slices(record, needs, dys)
        masking = masks.active or record.op in MASKING
        if found is NotImplemented:
            shield = masking and masks.shields(record)
            found = input_gradients(record, needs, dys, shield=shield)
        masked = masks.after(record) if masking else _NOT_MASKED
        for x, dx, needed in zip(record.inputs, found, needs, strict=True):
            if needed and dx is not None:
                known = gradients.get(id(x))
                if masking:
                    masks.note(x, masked, known is None)
                gradients[id(x)] = _with(known, dx, x)


def _layer_of(record: OpRecord) -> str:
    """The name scopes that an operation was made in."""
    y = record.outputs[0] if record.outputs else None
    node = y._symbol.node if isinstance(y, SymbolicTensor) else None
    return "" if node is None or node.source is None else node.source.layer


def _by_slices(
    record: OpRecord, needs: tuple[bool, ...], dys: list[Any]
) -> tuple[Any, list[Tensor | None]]:
    """Return a slices rule's result, or ``NotImplemented``; and the results' dense gradients."""
    dys = [sparse.total(dy) for dy in dys]
    rule = SLICE_RULES.get(record.op)
    if rule is not None:
        with _device_of(record):
            found = sparse.through(rule, record, needs, dys)
        if found is not NotImplemented:
            return found, dys
    return NotImplemented, [dense(dy) if isinstance(dy, IndexedSlices) else dy for dy in dys]


def _with(known: Any, dx: Any, x: Any) -> Any:
    """Return the accumulated gradient of ``x`` with one more part added."""
    if isinstance(dx, Tensor) and type(known) is not sparse.SliceSum:
        narrow(dx, x)
        return dx if known is None else _sum(known, dx)
    if isinstance(dx, _OF_SEQUENCES):
        return dx.added_to(known)
    return sparse.plus(known, dx)


def _sum(a: Tensor, b: Tensor) -> Tensor:
    return sequences.add(a, b) if sequences.is_sequence(a) else ox.Add(a, b)


def narrow(dx: Tensor, x: Any) -> None:
    """Set the static shape of a gradient in a graph: it is that of the tensor it belongs to.

    Rules work with shapes that are known at run time only, and inference cannot see through that.
    """
    if not isinstance(dx, SymbolicTensor):
        return
    have = dx._symbol.shape
    if have is not None and None not in have:
        return
    if dx._symbol.node is None or sequences.is_sequence(dx):
        return  # a sequence that was kept has no shape to ask for
    known = x.shape.symbolic
    if known is None:
        return
    if have is None:
        have = (None,) * len(known)
    if len(have) == len(known):
        # What a branch that was not taken kept has no elements, and another shape elsewhere.
        sure = tuple(None if d == 0 else d for d in known)
        dx._symbol.shape = tuple(b if a is None else a for a, b in zip(have, sure, strict=True))
        dx._shape = None


def _device_of(record: OpRecord) -> AbstractContextManager[Any]:
    """Return the device context of an operation, in which its gradient is computed too."""
    y = record.outputs[0] if record.outputs else None
    if isinstance(y, SymbolicTensor) and y._symbol.node is not None:
        device = y._symbol.node.device
        if device is not None:
            return using(device=device)
    return _HERE


def _rule_of(record: OpRecord) -> Any:
    """The rule; an error about a missing one names the user's line."""
    try:
        return rule_of(record.op)
    except NotFoundError as e:
        e.source = source_of(record) or e.source
        if e.source is not None and e.source.text() not in e.message:
            e.message += bracketed(e.source)
        raise


def input_gradients(
    record: OpRecord, needs: tuple[bool, ...], dys: list[Tensor | None], *, shield: bool = False
) -> Sequence[Tensor | None]:
    """Gradients of one record's inputs by its dense rule; None for those that are not wanted.

    With ``shield`` they are 0 where that of the result is, even where the slope is not finite.
    """
    if record.op == READ_VARIABLE:
        return dys
    formula = formula_of(record.op)
    rule = None if formula is not None else _rule_of(record)
    if rule is None and formula is None:
        return (None,) * len(record.inputs)
    # A record of its own: rules of different gradient computations must not share ``needs``.
    op = OpRecord(record.op, record.attrs, record.inputs, record.outputs)
    op.needs = needs
    if any(n and x.dtype.is_integer for n, x in zip(needs, record.inputs, strict=True)):
        op = of_floats(op, dys)
    place = _device_of(record)
    own = rule is not None and rule.__module__.startswith(_OWN_RULES)
    if rule is not None and own and place is _HERE and not shield:
        return _checked(rule(op, *dys), record)
    with place:
        if formula is not None:
            return gradients_of(formula, op, dys, backpropagate)
        assert rule is not None
        if shield and dys[0] is not None:
            result: Any = mask_singular(rule, op, dys[0])
        elif own:  # on another device
            result = rule(op, *dys)
        else:
            with other_places(current().graph):
                result = rule(op, *dys)
    return _checked(result, record)


def _checked(result: Any, record: OpRecord) -> Sequence[Tensor | None]:
    """Return a rule's result as a tuple of one gradient for each input."""
    if isinstance(result, Tensor) or result is None:
        result = (result,)
    if len(result) != len(record.inputs):
        raise InternalError(
            f"The gradient rule of {record.op} returned {len(result)} gradients for "
            f"{len(record.inputs)} inputs."
        )
    return tuple(result)
