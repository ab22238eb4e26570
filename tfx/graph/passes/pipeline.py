"""Sequences of passes: ``prepare`` for all that is compiled or saved, and more for CPU plans.

A pass takes a graph and returns a new one; the traced graph is never changed. It claims what it
needs, what holds afterwards, and what it may undo: a sequence in which a pass stands too early does
not import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tfx.core.errors import InternalError
from tfx.graph.ir import Graph, Value
from tfx.graph.kernels.cuda_forms import use_cuda_forms
from tfx.graph.kernels.legalize import legalize
from tfx.graph.passes.claims import EVERYTHING, NOTHING, Claim, check_claims
from tfx.graph.passes.common_subexpressions import eliminate_common
from tfx.graph.passes.dead_code import remove_dead_nodes
from tfx.graph.passes.dead_state import remove_dead_state
from tfx.graph.passes.fold_branches import fold_branches
from tfx.graph.passes.fold_constants import fold_constants
from tfx.graph.passes.gemm_transposes import share_transposes
from tfx.graph.passes.half_precision import use_half_precision
from tfx.graph.passes.kernel_operators.attention import use_attention_kernels
from tfx.graph.passes.kernel_operators.channels_last import use_channels_last_kernels
from tfx.graph.passes.kernel_operators.convolution_ends import end_convolutions
from tfx.graph.passes.kernel_operators.convolutions_at_points import use_convolutions_at_points
from tfx.graph.passes.kernel_operators.distinct import use_distinct_kernels
from tfx.graph.passes.kernel_operators.integer_products import use_integer_kernels
from tfx.graph.passes.kernel_operators.lstm import use_lstm_kernels
from tfx.graph.passes.kernel_operators.lstm_panels import use_lstm_panels
from tfx.graph.passes.kernel_operators.matrices import use_matrix_kernels
from tfx.graph.passes.kernel_operators.products import use_product_kernels
from tfx.graph.passes.kernel_operators.softmax import use_softmax_kernels
from tfx.graph.passes.kernel_operators.sums import use_sum_kernels
from tfx.graph.passes.limit_call_depth import limit_call_depth
from tfx.graph.passes.loops_to_scans import scan_loops
from tfx.graph.passes.quick_kernels import choose_quick_kernels
from tfx.graph.passes.remove_copies import remove_copies
from tfx.graph.passes.sink_expands import sink_expands
from tfx.graph.passes.sink_transposes import sink_transposes
from tfx.graph.passes.specialize_calls import specialize_calls
from tfx.graph.summary import PassEffect, count_nodes
from tfx.graph.verify import ENABLED, verify
from tfx.runtime.values import RawValue


@dataclass(frozen=True, slots=True, kw_only=True)
class PassOptions:
    """What passes may want to know besides the graph.

    Attributes:
        device: Where it will run.
        keep_marked: Keep the ``Identity`` nodes that stop gradients, for a graph that is saved.
        keep_gradients: Keep the markers of custom gradients.
        portable: Use what other builds of the runtime have, for a graph that is written to a file.
        known: Contents of inputs that will be initializers.
        threads: How many threads a run has.
        runs_here: The result runs on the CPU of this machine, and is not written to a file.
        own_kernels: It may use the operators of our kernels' library.
        half: ONNX element type to compute products of float32 in; None: as they are.
    """

    device: str = "CPU:0"
    keep_marked: bool = False
    keep_gradients: bool = False
    portable: bool = False
    known: Mapping[Value, RawValue] = field(default_factory=dict)
    threads: int = 1
    runs_here: bool = False
    own_kernels: bool = False
    half: int | None = None

    @property
    def on_gpu(self) -> bool:
        """Whether it will run on a GPU of this machine."""
        return self.device.startswith("GPU")


@dataclass(frozen=True, slots=True)
class Pass:
    """One change of a graph.

    Attributes:
        name: What summaries call it.
        run: Returns the changed graph, or the same object.
        requires: What must hold before.
        ensures: What holds afterwards.
        breaks: What may not hold any more.
        saved: Whether it may change what is written to a file.
    """

    name: str
    run: Callable[[Graph, PassOptions], Graph]
    requires: frozenset[Claim] = NOTHING
    ensures: frozenset[Claim] = NOTHING
    breaks: frozenset[Claim] = NOTHING
    saved: bool = True


class Pipeline:
    """Passes in the order in which they run.

    Args:
        passes: The passes.
        given: What holds of the graphs that it gets.
        saved: Whether its result may be written to a file.

    Raises:
        InternalError: a pass requires what none before it ensures, or may not be in it.
    """

    def __init__(
        self, passes: Sequence[Pass], given: frozenset[Claim] = NOTHING, *, saved: bool
    ) -> None:
        self._steps: list[tuple[Pass, frozenset[Claim]]] = []
        held = given
        for step in passes:
            missing = step.requires - held
            if missing:
                names = sorted(claim.name for claim in missing)
                raise InternalError(
                    f"The pass {step.name!r} stands too early: it requires {names}."
                )
            if saved and not step.saved:
                raise InternalError(f"The pass {step.name!r} must not change what is saved.")
            held = (held - step.breaks) | step.ensures
            self._steps.append((step, held))
        self.ensures = held

    def run(
        self, graph: Graph, options: PassOptions, effects: list[PassEffect] | None = None
    ) -> Graph:
        """Run the passes; where TFX_VERIFY=1 each result, and what is claimed of it, is checked.

        Args:
            graph: Not changed.
            options: What passes may want to know.
            effects: Gets what each pass did.
        """
        for step, held in self._steps:
            changed = step.run(graph, options)
            if ENABLED and changed is not graph:
                verify(changed)
                check_claims(changed, held, step.name)
            if effects is not None:
                effects.append(PassEffect(step.name, count_nodes(graph), count_nodes(changed)))
            graph = changed
        return graph


def _cleaned(changed: Graph, before: Graph) -> Graph:
    """A graph without the nodes that a pass left behind, if it changed anything."""
    return changed if changed is before else remove_dead_nodes(changed)


_DEAD_NODES = Pass(
    "dead nodes", lambda g, _: remove_dead_nodes(g), ensures=frozenset({Claim.NO_DEAD_NODES})
)
_REWRITES = EVERYTHING - {Claim.SHORT_CALL_CHAINS, Claim.NO_COPIES}

PREPARE = Pipeline(
    [
        Pass(
            "lstm kernels",
            lambda g, o: use_lstm_kernels(g, own_kernels=o.own_kernels and o.half is None),
        ),
        Pass("composites", lambda g, o: specialize_calls(g) if o.own_kernels else g),
        Pass("matrix kernels", lambda g, o: use_matrix_kernels(g) if o.own_kernels else g),
        Pass(
            "calls",
            lambda g, _: limit_call_depth(g),
            ensures=frozenset({Claim.SHORT_CALL_CHAINS}),
        ),
        Pass(
            "copies",
            lambda g, o: remove_copies(
                g, keep_marked=o.keep_marked, keep_gradients=o.keep_gradients
            ),
            ensures=frozenset({Claim.NO_COPIES}),
        ),
        _DEAD_NODES,
        Pass(
            "dead state",
            lambda g, _: remove_dead_state(g),
            requires=frozenset({Claim.NO_DEAD_NODES}),
            ensures=frozenset({Claim.NO_DEAD_STATE}),
            breaks=frozenset({Claim.NO_DEAD_NODES}),
        ),
        Pass(
            "expansions",
            lambda g, _: sink_expands(g),
            requires=frozenset({Claim.NO_COPIES}),
            # Whose shape is known otherwise need not be a result of a branch any more.
            breaks=frozenset({Claim.NO_DEAD_NODES, Claim.NO_DEAD_STATE}),
        ),
        _DEAD_NODES,
        Pass(
            "half precision",
            lambda g, o: g if o.half is None else remove_dead_nodes(use_half_precision(g, o.half)),
            requires=frozenset({Claim.NO_COPIES, Claim.NO_DEAD_NODES}),
        ),
        Pass(
            "channels last",
            lambda g, o: use_channels_last_kernels(g, o.known) if o.own_kernels else g,
            requires=frozenset({Claim.NO_COPIES, Claim.NO_DEAD_NODES}),
            breaks=frozenset({Claim.NO_DEAD_NODES}),
        ),
        _DEAD_NODES,
        # Before the kernels: sums become several nodes, which look at sizes.
        Pass(
            "transposes",
            lambda g, o: sink_transposes(g) if o.runs_here or o.on_gpu else g,
            requires=frozenset({Claim.NO_COPIES}),
            breaks=frozenset({Claim.NO_DEAD_NODES}),
        ),
        _DEAD_NODES,
        Pass(
            "convolution ends",
            lambda g, o: end_convolutions(g) if o.own_kernels else g,
            requires=frozenset({Claim.NO_COPIES, Claim.NO_DEAD_NODES}),
            breaks=frozenset({Claim.NO_DEAD_NODES}),
        ),
        _DEAD_NODES,
        # Before the kernels, which look whether there is anything for an ``LSTM`` to do.
        Pass(
            "lstm panels",
            lambda g, o: (
                _cleaned(use_lstm_panels(g, o.known), g) if o.own_kernels and o.half is None else g
            ),
            requires=frozenset({Claim.NO_COPIES, Claim.NO_DEAD_NODES}),
        ),
        Pass(
            "kernels",
            lambda g, o: legalize(g, o.device, portable=o.portable),
            requires=frozenset({Claim.NO_COPIES, Claim.NO_DEAD_NODES}),
            ensures=frozenset({Claim.KERNELS}),
            breaks=_REWRITES,
        ),
        Pass(
            "cuda kernels",
            lambda g, o: use_cuda_forms(g) if o.on_gpu else g,
            requires=frozenset({Claim.KERNELS}),
            breaks=frozenset({Claim.NO_DEAD_NODES}),
        ),
        Pass(
            "softmax kernels",
            lambda g, o: _cleaned(use_softmax_kernels(g), g) if o.own_kernels else g,
            requires=frozenset({Claim.KERNELS}),
        ),
        Pass(
            "attention kernels",
            lambda g, o: _cleaned(use_attention_kernels(g), g) if o.own_kernels else g,
            requires=frozenset({Claim.KERNELS}),
        ),
        Pass(
            "convolutions at points",
            lambda g, o: (
                _cleaned(use_convolutions_at_points(g, o.known), g) if o.own_kernels else g
            ),
            requires=frozenset({Claim.KERNELS}),
        ),
        Pass(
            "product kernels",
            lambda g, o: _cleaned(use_product_kernels(g, o.known), g) if o.own_kernels else g,
            requires=frozenset({Claim.KERNELS}),
        ),
        Pass(
            "integer kernels",
            lambda g, o: use_integer_kernels(g) if o.own_kernels else g,
            requires=frozenset({Claim.KERNELS}),
        ),
        Pass(
            "distinct kernels",
            lambda g, o: use_distinct_kernels(g) if o.own_kernels else g,
            requires=frozenset({Claim.KERNELS}),
        ),
        Pass(
            "sum kernels",
            lambda g, o: use_sum_kernels(g, o.known) if o.own_kernels else g,
            requires=frozenset({Claim.KERNELS}),
            breaks=frozenset({Claim.NO_DEAD_NODES}),
        ),
        _DEAD_NODES,
        # What is constant is computed by sessions of what there are kernels for.
        Pass(
            "conditions",
            lambda g, o: fold_branches(g, o.known),
            requires=frozenset({Claim.KERNELS}),
            ensures=frozenset({Claim.NO_CONSTANT_BRANCHES}),
            breaks=frozenset({Claim.NO_DEAD_NODES}),
        ),
        Pass(
            "constants",
            lambda g, _: fold_constants(g),
            requires=frozenset({Claim.KERNELS, Claim.NO_CONSTANT_BRANCHES}),
            ensures=frozenset({Claim.CONSTANTS_FOLDED}),
            breaks=frozenset({Claim.NO_DEAD_NODES}),
        ),
        Pass(
            "common",
            lambda g, _: eliminate_common(g),
            requires=frozenset({Claim.CONSTANTS_FOLDED}),
            ensures=frozenset({Claim.NO_REPEATS}),
            breaks=frozenset({Claim.NO_DEAD_NODES}),
        ),
        _DEAD_NODES,
    ],
    saved=True,
)

# Loops that are differentiated when a bundle is loaded stay loops: this is for what runs alone.
_SCANS = Pass(
    "scans",
    lambda g, _: scan_loops(g),
    requires=frozenset({Claim.CONSTANTS_FOLDED}),
    breaks=EVERYTHING - {Claim.KERNELS},
    saved=False,
)

CPU_PLAN = Pipeline(
    [
        _SCANS,
        Pass(
            "products",
            lambda g, o: share_transposes(g, o.threads),
            requires=frozenset({Claim.KERNELS}),
            breaks=EVERYTHING - {Claim.KERNELS},
            saved=False,
        ),
        Pass(
            "quick kernels",
            lambda g, _: remove_dead_nodes(choose_quick_kernels(g)),
            requires=frozenset({Claim.KERNELS}),
            breaks=EVERYTHING - {Claim.KERNELS},
            saved=False,
        ),
    ],
    PREPARE.ensures,
    saved=False,
)

GPU_PLAN = Pipeline([_SCANS], PREPARE.ensures, saved=False)


def prepare(
    graph: Graph,
    *,
    device: str = "CPU:0",
    keep_marked: bool = False,
    keep_gradients: bool = False,
    portable: bool = False,
    runs_here: bool = False,
    own_kernels: bool = False,
    half: int | None = None,
    known: Mapping[Value, RawValue] | None = None,
    effects: list[PassEffect] | None = None,
) -> Graph:
    """Prepare a graph to be compiled or saved: no copies, no dead nodes, only existing kernels.

    What is constant is computed, what is the same is computed once.

    Args:
        graph: The graph.
        device: Where it will run.
        keep_marked: Keep the ``Identity`` nodes that stop gradients, for a graph that is saved.
        keep_gradients: Keep the markers of custom gradients.
        portable: Use what other builds of the runtime have, for a graph that is written to a file.
        runs_here: Arrange it for the CPU of this machine; it will not be written to a file.
        own_kernels: Use the operators of our kernels' library, too.
        half: ONNX element type to compute products of float32 in; None: as they are.
        known: Contents of inputs that will be initializers.
        effects: Gets what each pass did.
    """
    options = PassOptions(
        device=device,
        keep_marked=keep_marked,
        keep_gradients=keep_gradients,
        portable=portable,
        runs_here=runs_here,
        own_kernels=own_kernels,
        half=half,
        known=known or {},
    )
    return PREPARE.run(graph, options, effects)


def tune_for_cpu(graph: Graph, threads: int) -> Graph:
    """A prepared graph as the CPU runs it best; not to be saved.

    Args:
        graph: What ``prepare`` returned.
        threads: How many threads a run has.
    """
    return CPU_PLAN.run(graph, PassOptions(threads=threads))


def tune_for_gpu(graph: Graph) -> Graph:
    """A prepared graph as a GPU runs it best; not to be saved.

    Args:
        graph: What ``prepare`` returned.
    """
    return GPU_PLAN.run(graph, PassOptions())
