"""What passes claim: sequences that cannot be right do not exist, and wrong claims are noticed."""

from __future__ import annotations

import pytest

from tfx.core.errors import InternalError
from tfx.graph.ir import Graph
from tfx.graph.passes import pipeline
from tfx.graph.passes.claims import Claim, check_claims
from tfx.graph.passes.pipeline import CPU_PLAN, PREPARE, Pass, PassOptions, Pipeline

FLOAT = 1


def unused() -> Graph:
    """A graph with a node that nobody needs."""
    graph = Graph("unused")
    x = graph.add_input("x", FLOAT, (2,))
    graph.add_node("Exp", (x,), {}, [(FLOAT, (2,))])
    graph.outputs = list(graph.add_node("Neg", (x,), {}, [(FLOAT, (2,))]).outputs)
    return graph


def test_what_the_usual_sequences_ensure() -> None:
    assert {Claim.NO_DEAD_NODES, Claim.KERNELS, Claim.NO_REPEATS} <= PREPARE.ensures
    assert Claim.KERNELS in CPU_PLAN.ensures


def test_a_pass_that_stands_too_early_is_refused() -> None:
    needs = Pass("late", lambda g, _: g, requires=frozenset({Claim.KERNELS}))
    with pytest.raises(InternalError, match=r"'late' stands too early: .*'KERNELS'"):
        Pipeline([needs], saved=True)
    makes = Pass("kernels", lambda g, _: g, ensures=frozenset({Claim.KERNELS}))
    undoes = Pass("undoes", lambda g, _: g, breaks=frozenset({Claim.KERNELS}))
    Pipeline([makes, needs], saved=True)
    with pytest.raises(InternalError, match="too early"):
        Pipeline([makes, undoes, needs], saved=True)


def test_what_is_for_plans_alone_is_not_saved() -> None:
    tuned = Pass("tuned", lambda g, _: g, saved=False)
    Pipeline([tuned], saved=False)
    with pytest.raises(InternalError, match="'tuned' must not change what is saved"):
        Pipeline([tuned], saved=True)


def test_a_wrong_claim_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "ENABLED", True)
    lies = Pass("lies", lambda _, __: unused(), ensures=frozenset({Claim.NO_DEAD_NODES}))
    with pytest.raises(InternalError, match=r"'lies' graph 'unused' should have NO_DEAD_NODES"):
        Pipeline([lies], saved=True).run(unused(), PassOptions())


def test_what_holds_is_not_refused() -> None:
    prepared = PREPARE.run(unused(), PassOptions())
    assert [n.op for n in prepared.nodes] == ["Neg"]
    check_claims(prepared, Claim, "all")
