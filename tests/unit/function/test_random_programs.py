"""Random programs of reads, assignments, calls and exceptions keep Python's order.

After every call all variables are compared: of plain Python functions and of traced ones, each with
the same program in NumPy.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings

import tfx as tf
from tests.unit.function.programs import (
    VARIABLES,
    Function,
    LimitError,
    Machine,
    Program,
    Reference,
    StopError,
    programs,
)
from tfx.core.errors import InvalidArgumentError


def _outcome(machine, step):
    """What a step gives: a result, or that the program stopped."""
    kind, *rest = step
    if kind in ("set", "add"):
        return getattr(machine, kind)(*rest)
    if kind == "lazy":
        return np.asarray(machine.lazy(*rest))
    number, x, stop = rest
    argument = np.full(2, float(x))
    try:
        if isinstance(machine, Machine):
            argument = tf.constant(argument)
        return np.asarray(machine.call(number, argument, stop))
    except StopError:
        return "stopped"
    except (LimitError, InvalidArgumentError):
        return "above the limit"


def _same(a, b):
    if isinstance(a, str) or isinstance(b, str) or a is None:
        assert (a if isinstance(a, str) else type(a)) == (b if isinstance(b, str) else type(b))
        return
    np.testing.assert_array_equal(a, b)


def _check_order(program):
    """Compare a program with the reference; the calls that failed, by why."""
    failed = Counter()
    with np.errstate(all="ignore"):
        for traced in (False, True):
            machine, reference = Machine(program, traced), Reference(program, traced)
            for step in program.steps:
                found = _outcome(machine, step)
                _same(found, _outcome(reference, step))
                failed.update([found] if isinstance(found, str) else [])
                for ours, expected in zip(machine.state, reference.state, strict=True):
                    np.testing.assert_array_equal(ours, expected)
    return failed


@settings(max_examples=120)
@given(programs())
def test_program_order(program):
    _check_order(program)


def test_program_order_with_failing_runs():
    """Nothing changes when a run fails, however deep inside; eagerly what came before stays."""
    failed = Counter()

    @settings(max_examples=50)
    @given(programs(limits=True))
    def check(program):
        failed.update(_check_order(program))

    check()
    assert failed["above the limit"] >= 4


def _gradients(machine, step):
    """Result and derivatives of a call, and the variables after it."""
    _, number, x, _ = step
    argument = tf.constant(np.full(2, float(x)))
    with tf.GradientTape() as tape:
        tape.watch(argument)
        y = machine.call(number, argument, False)
        z = y * machine.variables[0]
    found = tape.gradient(z, [argument, *machine.variables[:VARIABLES], machine.variables[-1]])
    return [z.numpy(), *[None if g is None else g.numpy() for g in found], *machine.state]


@settings(max_examples=60)
@given(programs())
def test_derivatives(program):
    machines = [Machine(program, traced) for traced in (False, True)]
    for step in program.steps:
        if step[0] != "call":
            for machine in machines:
                getattr(machine, step[0])(*step[1:])
            continue
        plain, traced = (_gradients(machine, step) for machine in machines)
        for a, b in zip(plain, traced, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a, b)


def test_the_interpreter_itself():
    """Exceptions undo a traced call, a plain one keeps what was assigned before."""
    body = Function((("assign", 0, 0), ("stop",), ("assign", 1, 0)))
    program = Program((body,), (("call", 0, 3, True),))
    for traced, first in ((False, 3.0), (True, 1.0)):
        machine, reference = Machine(program, traced), Reference(program, traced)
        for runner in (machine, reference):
            assert _outcome(runner, program.steps[0]) == "stopped"
            assert [v[0] for v in runner.state[:3]] == [first, 2.0, 3.0]
