"""``placement()``: which device and which execution provider run each node of a function.

The table is read off the compiled plan, after optimization: what ONNX Runtime folded away or could
not give to a GPU is in it. It is made again when somebody asks, and compiles the plan if need be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tfx.core import nest
from tfx.core.dtypes import DType, from_onnx
from tfx.framework.device import DEFAULT_DEVICE
from tfx.framework.func_graph import FuncGraph
from tfx.framework.tensor import EagerTensor, label
from tfx.function.execution.plan import Plan
from tfx.graph.ir import CALL, Graph, Node
from tfx.runtime.devices import CPU_PROVIDER

# Operators that ONNX Runtime puts between devices.
TO_HOST, FROM_HOST = "MemcpyToHost", "MemcpyFromHost"
COPIES = frozenset((TO_HOST, FROM_HOST))
_PYTHON = "Python"
# How the names of nodes begin that ONNX Runtime inlined.
_INLINED = "_inlfunc_"
_HEADINGS = ("node", "operator", "device", "provider", "why")


@dataclass(frozen=True, slots=True)
class NodePlacement:
    """The placement of one node.

    Attributes:
        node: Its name in the graph.
        op: The ONNX operator.
        device: Canonical device name, such as ``"GPU:0"``.
        provider: ONNX Runtime's execution provider, or ``"Python"`` for a host call; empty: ONNX
            Runtime runs no such node.
        why: Why it is there, where that is known.
    """

    node: str
    op: str
    device: str
    provider: str
    why: str


class Placement(Sequence[NodePlacement]):
    """The placement of one trace's nodes; printed as a table.

    Attributes:
        function: The trace's name and signature.
        device: The device that it was traced for.
        rows: One entry for each node, and for each value that is copied between devices.
        predicted: Whether it is what a GPU would do, by what is known of its kernels.
    """

    def __init__(
        self,
        function: str,
        device: str,
        rows: Sequence[NodePlacement],
        *,
        predicted: bool = False,
    ) -> None:
        self.predicted = predicted
        self.function = function
        self.device = device
        self.rows = tuple(rows)

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that it uses, in order of first use."""
        return tuple(dict.fromkeys(row.device for row in self.rows))

    @property
    def on_host(self) -> tuple[NodePlacement, ...]:
        """The nodes of a function on a GPU that the CPU runs."""
        if self.device.startswith("CPU"):
            return ()
        return tuple(row for row in self.rows if row.provider == CPU_PROVIDER)

    @property
    def copies(self) -> tuple[NodePlacement, ...]:
        """The copies between a GPU and the host in every run."""
        return tuple(row for row in self.rows if row.op in COPIES)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        lines = [_HEADINGS, *((r.node, r.op, r.device, r.provider, r.why) for r in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(_HEADINGS))]
        table = [
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        told = " (predicted)" if self.predicted else ""
        return "\n".join([f"{self.function} on {self.device}{told}", *table])

    def __repr__(self) -> str:
        return f"<Placement of {self.function}: {len(self)} nodes on {', '.join(self.devices)}>"


class Placements(list[Placement]):
    """One ``Placement`` for each trace of a function; printed, one table below the other."""

    def __str__(self) -> str:
        return "\n\n".join(str(one) for one in self)


def signature_line(graph: FuncGraph) -> str:
    """A trace's name and arguments in one line."""
    arguments = [
        f"{v.name}: {from_onnx(v.dtype).name}{'' if v.shape is None else list(v.shape)}"
        for v in graph.arguments
    ]
    return f"{graph.name}({', '.join(arguments)})"


def placement(name: str, device: str, plan: Any) -> Placement:
    """Return the placement of a compiled function's nodes.

    Args:
        name: Name and signature of the trace.
        device: The device that it was traced for.
        plan: Its ``Plan`` or ``SteppedPlan``.
    """
    return Placement(name, device, list(_rows(plan, device)))


def _rows(plan: Any, device: str) -> Iterator[NodePlacement]:
    if isinstance(plan, Plan):
        yield from _session_rows(plan, device)
        return
    for step in plan.steps:
        part = getattr(step, "plan", None)
        if isinstance(part, Plan):
            yield from _session_rows(part, device)
        else:
            yield from _python_rows(step, device)


def _python_rows(step: Any, device: str) -> Iterator[NodePlacement]:
    """A host call, or a branch or loop that Python drives."""
    node = getattr(step, "node", None)
    if node is not None and hasattr(step, "call"):
        yield host_row(node)
    elif node is not None:
        yield NodePlacement(node.name, node.op, DEFAULT_DEVICE, _PYTHON, "driven by Python")
    bodies = [*getattr(step, "branches", ()), getattr(step, "body", None)]
    for body in bodies:
        if body is not None:
            yield from _rows(body.plan, device)


def host_row(node: Node) -> NodePlacement:
    """The placement of a host call."""
    why = f"a host call ({node.attrs['call'].kind})"
    return NodePlacement(node.name, node.op, DEFAULT_DEVICE, _PYTHON, why)


def _session_rows(plan: Plan, device: str) -> Iterator[NodePlacement]:
    session = getattr(plan, "session", None)
    where = device if session is None else session.device
    if session is None or where.startswith("CPU"):
        for node, path in _nodes(plan.graph, ""):
            yield NodePlacement(path, node.op, where, CPU_PROVIDER, _scope_reason(where, device))
        return
    assigned = _Assigned(session.assignments())
    for node, path in _nodes(plan.graph, ""):
        op, provider = assigned.take(node, path)
        yield NodePlacement(path, op, where, provider, _gpu_reason(provider, where, device))
    for name, (op, provider) in assigned.left.items():  # made by ONNX Runtime's optimizations
        yield NodePlacement(name, op, where, provider, _gpu_reason(provider, where, device))


class _Assigned:
    """What ONNX Runtime tells of nodes, each told once; it renames those that it inlines."""

    def __init__(self, rows: Iterable[tuple[str, str, str]]) -> None:
        self.left = {name: (op, provider) for name, op, provider in rows}
        # Names of inlined nodes by each of their ends that can be the name in the function.
        self._inlined: dict[str, list[str]] = {}
        for name in reversed(self.left):
            if name.startswith(_INLINED):
                for end in (i + 1 for i, letter in enumerate(name) if letter == "_"):
                    self._inlined.setdefault(name[end:], []).append(name)

    def take(self, node: Node, path: str) -> tuple[str, str]:
        """The operator and the provider of a node; no provider: there is no such node."""
        found = path
        if node.name != path and path not in self.left:
            names = self._inlined.get(node.name, [])
            while names and names[-1] not in self.left:
                names.pop()
            found = names[-1] if names else path
        return self.left.pop(found, (node.op, ""))


def _nodes(graph: Graph, prefix: str) -> Iterator[tuple[Node, str]]:
    """All nodes, those of called functions with the call's name before theirs."""
    for node in graph.nodes:
        if node.op == CALL:
            yield from _nodes(node.attrs["graph"], f"{prefix}{node.name}/")
        else:
            yield node, f"{prefix}{node.name}"


def _scope_reason(where: str, device: str) -> str:
    return "" if where == device else "a device scope inside the function"


def _gpu_reason(provider: str, where: str, device: str) -> str:
    if provider == CPU_PROVIDER:
        return (
            "ONNX Runtime keeps it on the host: no CUDA kernel for it and its dtypes, or it works "
            "on shapes, which kernels read there"
        )
    if not provider:
        return "ONNX Runtime folded it, or fused it into another node"
    return _scope_reason(where, device)


def labelled(
    pack: Callable[[Sequence[Any], list[DType]], Any], device: str
) -> Callable[[Sequence[Any], list[DType]], Any]:
    """Return a packer of results that labels them with the function's logical CPU.

    Args:
        pack: Makes them.
        device: Canonical device name.
    """
    if device == DEFAULT_DEVICE or not device.startswith("CPU"):
        return pack

    def packed(raw: Sequence[Any], kinds: list[DType]) -> Any:
        results = pack(raw, kinds)
        for leaf in nest.flatten(results):
            if isinstance(leaf, EagerTensor):
                label(leaf, device)
        return results

    return packed
