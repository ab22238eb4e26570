"""Tensors of more than 2**31 elements. Pages that nothing was written to take no memory."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from tests.unit.kernels.compiling import SANITIZERS, compiled
from tests.unit.kernels.fused_graphs import always_fuse, fused, fused_nodes, needs_library, run
from tfx.graph.ir import Graph
from tfx.kernels import build

pytestmark = pytest.mark.proof
__all__ = ["always_fuse"]

COUNT = 2**31 + 700
MARKS = [0, 511, 2**31 - 1, 2**31, 2**31 + 1, COUNT - 188, COUNT - 1]
FLOAT, BOOL = 1, 9


@needs_library
@pytest.mark.usefixtures("always_fuse")
@pytest.mark.parametrize("spread", [False, True])
def test_more_elements_than_an_int_counts(spread):
    """Numbers to truth values, which take 2 GiB; with a row that is spread out, too."""
    shape = (COUNT // 4, 4) if spread else (COUNT,)
    graph = Graph("g")
    x = graph.add_input("x", FLOAT, shape)
    y = graph.add_input("y", FLOAT, shape[-1:] if spread else ())
    total = graph.add_node("Add", [x, y], {}, [(FLOAT, shape)]).outputs[0]
    zero = graph.add_constant(np.array(0, np.float32), FLOAT)
    graph.outputs = [graph.add_node("Less", [zero, total], {}, [(BOOL, shape)]).outputs[0]]
    together = fused(graph)
    assert fused_nodes(together) == 1 and len(together.nodes) <= 2
    given = np.zeros(COUNT, np.float32)
    given[MARKS] = 1
    other = np.zeros(shape[-1:] if spread else (), np.float32)
    (found,) = run(together, [given.reshape(shape), other], owned=True)
    assert found.shape == shape
    assert np.flatnonzero(found).tolist() == MARKS


@pytest.mark.parametrize("flags", [SANITIZERS, []], ids=["sanitizers", "as built"])
def test_kernels_on_tensors_that_are_as_large(flags, tmp_path):
    """Reductions, pools and convolutions, with nothing to read behind the tensors."""
    others = [name for name in build.SOURCES if name not in ("program.c", "operator.c")]
    options = [f for f in build.FLAGS if not flags or f not in ("-O2", "-ftree-vectorize")]
    command = [*options, *build.machine_flags(), *flags]
    program = compiled("large_check", tmp_path, command, others)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["reduction", "row", "columns", "pool", "convolution"]
