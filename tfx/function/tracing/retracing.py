"""Reports of why a function was traced more than once, and a warning when it goes on.

Owns the history of a function's traces: the keys that they were made for, nothing that a key does
not hold. A key is compared with the nearest earlier one; differences are reported with what to do
about it. Must not know how traces are made or found.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from tfx.core.dtypes import from_onnx
from tfx.core.log import LOGGER
from tfx.core.source import SourceLocation
from tfx.framework.variable import Variable
from tfx.function.tracing.trace_key import WeakIdentity, describe_key, is_tensor_key

_REMEMBERED = 512
# So many traces in a row of which none served a second call are too many.
_FREQUENT = 5
_MAX_TEXT = 60
_NUMBERS = (int, float, complex)

_ADVICE = {
    "shape": "use reduce_retracing=True, or an input_signature with None for the dimension",
    "rank": "reshape it to one rank, or use an input_signature with shape None",
    "dtype": "cast it to one dtype, or use an input_signature",
    "number": "pass it as a tensor, tf.constant(...), unless the graph depends on its value",
    "value": "expected where the graph depends on the value; otherwise leave it out of the call",
    "object": "pass the same object again, or give its class __eq__ and __hash__",
    "variable": "a trace is made for one variable: update all of them in one call, with a list of "
    "them, or let one function for each use it from outside",
    "length": "stack the items to one tensor, or use a list of one length",
    "structure": "pass the same structure in every call",
    "type": "pass the same kind of value in every call",
    "context": "call the function on one device",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between an argument and that of an earlier trace.

    Attributes:
        argument: The argument, with the way to the part of it: ``"batch['x'][0]"``.
        kind: ``"shape"``, ``"rank"``, ``"dtype"``, ``"number"``, ``"value"``, ``"object"``,
            ``"variable"``, ``"length"``, ``"structure"``, ``"type"`` or ``"context"`` (the device
            scope).
        before: What it was.
        now: What it is.
    """

    argument: str
    kind: str
    before: str
    now: str

    @property
    def advice(self) -> str:
        """Advice for avoiding such a retrace."""
        return _ADVICE[self.kind]

    def __str__(self) -> str:
        return f"{self.argument}: {self.kind} {self.before} -> {self.now}"


@dataclass(frozen=True, slots=True)
class Retrace:
    """One trace of a function.

    Attributes:
        number: Which one, counted from 1.
        nearest: The earlier trace with the fewest differences; None: it is the first.
        differences: What differs from that trace.
        where: The line that called the function.
        reason: In words.
    """

    number: int
    nearest: int | None
    differences: tuple[Difference, ...]
    where: str
    reason: str


class RetraceReport(Sequence[Retrace]):
    """The traces of a function and why each was made; ``str()`` gives a table."""

    def __init__(self, name: str, traces: Sequence[Retrace]) -> None:
        self.name = name
        self._traces = tuple(traces)

    @overload
    def __getitem__(self, index: int) -> Retrace: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Retrace]: ...
    def __getitem__(self, index: int | slice) -> Retrace | Sequence[Retrace]:
        return self._traces[index]

    def __len__(self) -> int:
        return len(self._traces)

    def __str__(self) -> str:
        if not self._traces:
            return f"{self.name} was not traced yet."
        rows = [("trace", "nearest", "argument", "difference", "what to do", "called at")]
        for trace in self._traces:
            first = (str(trace.number), "-" if trace.nearest is None else str(trace.nearest))
            if not trace.differences:
                rows.append((*first, "-", trace.reason, "", trace.where))
            for i, d in enumerate(trace.differences):
                head = first if i == 0 else ("", "")
                change = f"{d.kind}: {d.before} -> {d.now}"
                rows.append((*head, d.argument, change, d.advice, trace.where if i == 0 else ""))
        return "\n".join([f"{self.name}: {len(self)} traces", *_aligned(rows)])

    def __repr__(self) -> str:
        return f"<Explanation of {len(self)} traces of {self.name}>"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()


@dataclass(slots=True)
class _Record:
    number: int
    key: Any
    where: SourceLocation
    again: bool  # for the same call: the first trace made variables
    reused: bool = False
    asked: bool = False  # by get_concrete_function, or part of another trace


class History:
    """The traces that a function made.

    Args:
        name: The function's name.
        parameters: Names of its parameters.
    """

    def __init__(self, name: str, parameters: Sequence[str]) -> None:
        self._name = name
        self._parameters = list(parameters)
        self._records: deque[_Record] = deque(maxlen=_REMEMBERED)
        self._warned = False

    def add(
        self, number: int, key: Any, where: SourceLocation, *, again: bool, asked: bool
    ) -> None:
        """A trace is about to be made.

        Args:
            number: Which one, counted from 1.
            key: What it is made for.
            where: The call.
            again: It is the second one for one call.
            asked: It was asked for by ``get_concrete_function``, or is part of another trace.
        """
        self._records.append(_Record(number, key, where, again, asked=asked))
        if not self._warned and not asked and not again:
            self._warn_if_frequent()

    def reused(self, number: int) -> None:
        """A trace serves a further call."""
        for record in reversed(list(self._records)):  # other threads may be tracing
            if record.number == number:
                record.reused = True
                return

    def explain(self) -> RetraceReport:
        """Each trace with its differences from the nearest earlier one."""
        records = list(self._records)
        return RetraceReport(self._name, [self._explain(r, records) for r in records])

    def _explain(self, record: _Record, records: Sequence[_Record]) -> Retrace:
        where = record.where.text()
        if record.again:
            reason = "the first call created variables: this is what later calls do"
            return Retrace(record.number, record.number - 1, (), where, reason)
        earlier = [r for r in records if r.number < record.number and not r.again]
        if not earlier:
            return Retrace(record.number, None, (), where, "the first call")
        found = [(self._differences(r.key, record.key), r.number) for r in earlier]
        differences, nearest = min(found, key=lambda pair: (len(pair[0]), -pair[1]))
        reason = "; ".join(map(str, differences)) or "an earlier trace of this kind is gone"
        return Retrace(record.number, nearest, tuple(differences), where, reason)

    def _differences(self, before: Any, now: Any) -> list[Difference]:
        found: list[Difference] = []
        if before[0] != now[0]:
            found.append(Difference("(device)", "context", _text(before[0]), _text(now[0])))
        names = [*self._parameters, *(str(i) for i in range(len(now)))]
        for name, a, b in zip(names, before[1:], now[1:], strict=False):
            _compare(name, a, b, found)
        return found

    def _warn_if_frequent(self) -> None:
        records = list(self._records)
        last = [r for r in records if not r.again][-_FREQUENT:]
        if len(last) < _FREQUENT or any(r.reused or r.asked for r in last):
            return
        explained = [self._explain(r, records) for r in last[1:]]
        counts = Counter((d.argument, d.kind) for e in explained for d in e.differences)
        if not counts:
            return
        self._warned = True
        (argument, kind), _ = counts.most_common(1)[0]
        seen = [
            d for e in explained for d in e.differences if (d.argument, d.kind) == (argument, kind)
        ]
        values = ", ".join(dict.fromkeys([seen[0].before, *(d.now for d in seen)]))
        LOGGER.warning(
            "tfx.function %s keeps being traced: of its last %d traces none served a second call, "
            "and tracing costs far more than running a graph. The argument %r had another %s each "
            "time: %s. What helps: %s. explain_retraces() shows every trace. (Called at %s.)",
            self._name,
            len(last),
            argument,
            kind,
            values,
            _ADVICE[kind],
            last[-1].where.text(),
        )


def _compare(path: str, before: Any, now: Any, found: list[Difference]) -> None:
    """Append how two parts of keys differ."""
    if before == now:
        return
    if is_tensor_key(before) and is_tensor_key(now):
        if before[0] != now[0]:
            found.append(Difference(path, "dtype", _dtype(before), _dtype(now)))
        if before[1] != now[1]:
            ranks = [None if k[1] is None else len(k[1]) for k in (before, now)]
            kind = "shape" if ranks[0] == ranks[1] else "rank"
            found.append(Difference(path, kind, _text(before), _text(now)))
        return
    kind = _kind_of_difference(before, now)
    if kind == "parts":
        keys = now[1] or range(len(now[2]))
        for key, a, b in zip(keys, before[2], now[2], strict=True):
            name = key[1] if type(key) is tuple and len(key) == 2 else key
            _compare(f"{path}[{name!r}]", a, b, found)
        return
    found.append(Difference(path, kind, _text(before), _text(now)))


def _kind_of_difference(before: Any, now: Any) -> str:
    if _is_structure(before) and _is_structure(now):
        if before[0] is not now[0] or before[1] != now[1]:
            return "structure"
        return "parts" if len(before[2]) == len(now[2]) else "length"
    if isinstance(before, WeakIdentity) and isinstance(now, WeakIdentity):
        both = before.kind == now.kind == Variable.__name__
        return "variable" if both else "object"
    if _is_value(before) and _is_value(now) and before[0] is now[0]:
        return "number" if before[0] in _NUMBERS else "value"
    return "type"


def _dtype(key: Any) -> str:
    return str(from_onnx(key[0]).name)


def _is_structure(key: Any) -> bool:
    return type(key) is tuple and len(key) == 3 and type(key[2]) is tuple


def _is_value(key: Any) -> bool:
    return type(key) is tuple and len(key) == 2 and isinstance(key[0], type)


def _text(key: Any) -> str:
    """A part of a key for people."""
    if is_tensor_key(key):
        return describe_key(from_onnx(key[0]).name, key[1])
    if _is_structure(key):
        count = len(key[2])
        return f"{key[0].__name__} of {count}" + (f" {list(key[1])!r}" if key[1] else "")
    if _is_value(key):
        value = key[1]
        text = value if key[0] in _NUMBERS and isinstance(value, str) else repr(value)
    elif type(key) is tuple and len(key) == 3:
        text = f"method {key[2]!r} of {key[1]!r}"
    else:
        text = "the default device" if key is None else repr(key)
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 3] + "..."
