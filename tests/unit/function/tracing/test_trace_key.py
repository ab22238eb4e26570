"""What is part of the key of a trace."""

from __future__ import annotations

from typing import Any

import tfx as tf


def test_what_a_structure_has_beside_its_tensors_counts() -> None:
    class Power:
        def __init__(self, base: Any, times: Any) -> None:
            self.base, self.times = base, times

        def __tf_flatten__(self) -> tuple[Any, Any]:
            return (self.times,), (self.base,)

        @classmethod
        def __tf_unflatten__(cls, metadata: Any, components: Any) -> Power:
            return cls(components[0], *metadata)

    traces = []

    @tf.function
    def power(p: Any) -> Any:
        traces.append(p.times)
        return p.base * float(p.times if isinstance(p.times, int | float) else p.times[0])

    two = tf.constant(2.0)
    for times, expected in ((2, 4), (3, 6), (2, 4), (True, 2), (1, 2), ([5], 10), ([6], 12)):
        assert float(power(Power(two, times))) == expected
    assert traces == [2, 3, True, 1, [5], [6]]
