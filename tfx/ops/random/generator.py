"""``Generator``: random numbers from a state that is a variable, and the global generators.

The state is three int64: how many draws were made, a stream number, and the key. Drawing reads the
variable and assigns it advanced, so a traced function gives fresh numbers at each call and a
checkpoint that holds the generator resumes the sequence.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.context import current, init_scope
from tfx.framework.convert import embed, int64_constant
from tfx.framework.func_graph import FuncGraph
from tfx.framework.module import Module
from tfx.framework.tensor import Tensor, raw_of
from tfx.framework.variable import Variable, living
from tfx.framework.variable_creators import outside_scopes
from tfx.ops.common.arguments import as_int64, static_int
from tfx.ops.common.shapes import shape_argument
from tfx.ops.common.traced_once import Composite
from tfx.ops.random import distributions, rejection
from tfx.ops.random.samplers import STATE_SIZE
from tfx.runtime.fork_safe_locks import fork_safe


class Algorithm(enum.Enum):
    """The names of generator algorithms; Philox is the only one that is offered."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


# Reading a state and writing it advanced must not be torn apart by another thread.
_drawing = fork_safe(threading.RLock())
_OFFERED = (None, "philox", "auto_select", 1, 3, Algorithm.PHILOX, Algorithm.AUTO_SELECT)
# The global seed of operations that are given a seed of their own where set_seed was never called.
_DEFAULT_SEED = 87654321


def generator_states() -> list[Variable]:
    """The variables that hold the states of the generators that there are."""
    return [v for v in list(living.values()) if v.aside is not None]


def seeded_states() -> list[tuple[Variable, Any]]:
    """The states of eager operations with a seed of their own, and what they began with."""
    with _global.lock, init_scope():
        return [
            (generator.state, raw_of(_first_state(seeds)))
            for generator, seeds in _global.seeded.values()
        ]


def drawing_alone() -> AbstractContextManager[Any]:
    """A block in which no other thread draws from a generator eagerly."""
    return _drawing


class Generator(Module):
    """A stream of random numbers with a state of its own.

    Make one with ``from_seed``, ``from_non_deterministic_state`` or ``split``. The numbers are
    those of Philox4x32-10, the same on every device and runtime; they are not TensorFlow's.

    Args:
        copy_from: A generator whose state and algorithm to copy.
        state: Three integers: counter, stream, key. Needs ``alg``.
        alg: ``"philox"`` or ``"auto_select"``.

    Raises:
        ValueError: neither or both of ``copy_from`` and ``state``, or an algorithm that is not
            offered.

    Example:
        >>> import tfx as tf
        >>> g = tf.random.Generator.from_seed(1234)
        >>> g.normal(shape=(2, 3)).shape
        TensorShape([2, 3])
    """

    def __init__(
        self, copy_from: Generator | None = None, state: Any = None, alg: Any = None
    ) -> None:
        super().__init__("generator")
        if copy_from is not None:
            if state is not None or alg is not None:
                raise ValueError(
                    "All other arguments except copy_from should be None when "
                    f"copy_from is given; got state={state!r} and alg={alg!r}."
                )
            state, alg = copy_from.state.value(), "philox"
        elif state is None:
            raise ValueError(
                "Either copy_from or state must be given; got neither. Use "
                "Generator.from_seed or Generator.from_non_deterministic_state."
            )
        _check_algorithm(alg)
        self._state_var = Variable(_state(state), trainable=False, name="generator_state")
        self._state_var.aside = _aside

    @classmethod
    def from_state(cls, state: Any, alg: Any) -> Generator:
        """A generator that continues from a state: three integers, or a generator's ``state``."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> Generator:
        """A generator from a seed: an integer, or up to three.

        The same seed gives the same numbers, always.
        """
        return cls(state=create_rng_state(seed, "auto_select" if alg is None else alg), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """A generator that differs from run to run."""
        return cls(state=_fresh_state(), alg=alg)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: Any) -> Generator:
        """A generator from a key (an integer) and a counter (two integers)."""
        return cls(state=_joined_state(key, counter), alg=alg)

    # State

    @property
    def state(self) -> Variable:
        """The variable that holds the state."""
        return self._state_var

    @property
    def algorithm(self) -> int:
        """TensorFlow's number of the algorithm: 1, Philox."""
        return Algorithm.PHILOX.value

    @property
    def key(self) -> Tensor:
        """The state's key, a scalar."""
        return ox.Gather(self._state_var.value(), int64_constant(2))

    def reset(self, state: Any) -> None:
        """Continue from another state."""
        self._state_var.assign(_state(state))

    def reset_from_seed(self, seed: Any) -> None:
        """Start again as ``from_seed`` would."""
        self.reset(create_rng_state(seed, "philox"))

    def reset_from_key_counter(self, key: Any, counter: Any) -> None:
        """Start again as ``from_key_counter`` would."""
        self.reset(_joined_state(key, counter))

    def skip(self, delta: Any) -> Tensor:
        """Leave out ``delta`` draws; returns the new state."""
        step = ox.Mul(as_int64(delta), int64_constant([1, 0, 0]))
        with _drawing:
            self._state_var.assign_add(step)
            return self._state_var.value()

    def draw(self, sampler: Composite, shape: Tensor, *parameters: Tensor, dtype: DType) -> Tensor:
        """Numbers by a sampler of ``ops.random.samplers``; advances the state."""
        return self.draw_from(sampler, shape, *parameters, dtype=dtype)[0]

    def draw_from(
        self, sampler: Composite, shape: Tensor, *parameters: Tensor, dtype: DType
    ) -> tuple[Tensor, Tensor]:
        """The same, with the state that the numbers were drawn from."""
        shapes = (distributions.raw_shape_of(shape), (STATE_SIZE,))
        graph = current().graph
        with _drawing:
            if graph is not None:
                graph.draws_from(self._state_var)
            state = self._state_var._peek()
            drawn, advanced = sampler(
                state, shape, *parameters, shapes=shapes, stateful=True, dtype=dtype.name
            )
            self._state_var.assign(advanced)
        return drawn, state

    # Numbers

    def normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """Normally distributed numbers; see ``random.normal``."""
        return distributions.normal(self, shape, mean, stddev, dtype)

    def truncated_normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """Normal numbers within two standard deviations; see ``random.truncated_normal``."""
        return distributions.truncated_normal(self, shape, mean, stddev, dtype)

    def uniform(
        self,
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """Uniformly distributed numbers; see ``random.uniform``."""
        return distributions.uniform(self, shape, minval, maxval, dtype)

    def uniform_full_int(
        self, shape: Any, dtype: DTypeLike = dtypes.uint64, name: str | None = None
    ) -> Tensor:
        """Draw integers uniformly from all values of the dtype."""
        kind = dtypes.as_dtype(dtype)
        if not kind.is_integer:
            raise ValueError(f"uniform_full_int draws integers; got dtype {kind.name}.")
        return distributions.uniform(self, shape, None, None, kind)

    def binomial(
        self,
        shape: Any,
        counts: Any,
        probs: Any,
        dtype: DTypeLike = dtypes.int32,
        name: str | None = None,
    ) -> Tensor:
        """Binomially distributed counts; see ``random.stateless_binomial``."""
        whole = shape_argument(shape, "Generator.binomial")
        return rejection.binomial(self, whole, counts, probs, dtype)

    def make_seeds(self, count: Any = 1) -> Tensor:
        """Seeds for the stateless functions, ``[2, count]`` int64."""
        keys = distributions.new_seeds(self, count)
        zeros = ox.Sub(keys, keys)
        rows = [ox.Unsqueeze(row, int64_constant([0])) for row in (keys, zeros)]
        return ox.Concat(*rows, axis=0)

    def split(self, count: int = 1) -> list[Generator]:
        """``count`` new generators that are independent of this one and of each other."""
        keys = distributions.new_seeds(self, count)
        return [
            Generator(
                state=ox.Mul(ox.Gather(keys, int64_constant([i])), int64_constant([0, 0, 1])),
                alg="philox",
            )
            for i in range(count)
        ]


_hidden_generator = functools.partial(outside_scopes, Generator, alg="philox")


def _check_algorithm(alg: Any) -> None:
    name = alg.lower() if isinstance(alg, str) else alg
    if name not in _OFFERED:
        raise ValueError(f"Unsupported RNG algorithm {alg!r}: expected 'philox' or 'auto_select'.")


def _state(state: Any) -> Tensor:
    if isinstance(state, Variable):
        state = state.value()
    tensor = as_int64(state)
    if not tensor.shape.is_compatible_with([STATE_SIZE]):
        raise ValueError(
            "The state of a Philox generator has shape [3] (counter, stream, key); got "
            f"{tensor.shape}."
        )
    return tensor


def create_rng_state(seed: Any, alg: Any) -> Tensor:
    """The state that ``Generator.from_seed`` starts from.

    Args:
        seed: An integer, or up to three.
        alg: ``"philox"`` or ``"auto_select"``.

    Example:
        >>> import tfx as tf
        >>> tf.random.create_rng_state(7, "philox").numpy()
        array([0, 0, 7])
    """
    _check_algorithm(alg)
    if isinstance(seed, Variable | Tensor):
        parts = np.asarray(seed).reshape(-1).tolist()
    else:
        parts = list(seed) if hasattr(seed, "__len__") else [seed]
    if len(parts) > STATE_SIZE:
        raise ValueError(f"A seed has at most {STATE_SIZE} integers; got {len(parts)}: {seed!r}.")
    words = [0] * (STATE_SIZE - len(parts)) + [_signed(int(p)) for p in parts]
    return embed(np.array(words, np.int64))


def _signed(number: int) -> int:
    """A Python integer as 64 bits."""
    return (number + 2**63) % 2**64 - 2**63


def _joined_state(key: Any, counter: Any) -> Tensor:
    parts = (as_int64(counter), ox.Reshape(as_int64(key), int64_constant([1])))
    return ox.Concat(*parts, axis=0)


def _fresh_state() -> Tensor:
    return embed(np.array([0, 0, _signed(secrets.randbits(64))], np.int64))


class _Global:
    """The process's global seed and the generators of its eager operations."""

    def __init__(self) -> None:
        self.lock = fork_safe(threading.RLock())
        self.seed: int | None = None
        self.generator: Generator | None = None
        self.unseeded: Generator | None = None  # of operations without a seed
        # Of operations with one, by what they draw and the seed; with the two seeds.
        self.seeded: dict[Any, tuple[Generator, tuple[int, ...]]] = {}


_global = _Global()


def get_global_generator() -> Generator:
    """The process's own generator. ``random.set_seed`` does not touch it, as in TensorFlow.

    Example:
        >>> import tfx as tf
        >>> tf.random.get_global_generator().uniform([2]).shape
        TensorShape([2])
    """
    with _global.lock, init_scope():
        if _global.generator is None:
            _global.generator = Generator.from_non_deterministic_state()
        return _global.generator


def set_global_generator(generator: Generator) -> None:
    """Make ``get_global_generator`` return ``generator``.

    Functions traced before go on drawing from the generator they were traced with.
    """
    if not isinstance(generator, Generator):
        raise TypeError(f"set_global_generator takes a Generator; got {generator!r}.")
    with _global.lock:
        _global.generator = generator


def set_seed(seed: int | None) -> None:
    """Start all random numbers again from a global seed.

    An operation draws a sequence that follows from the global seed and its own. Eagerly,

    - operations without a seed take one after another from the sequence of the global seed;
    - operations of one kind, dtype and seed share a sequence: each goes on where the last ended.

    In a function each random operation has a sequence of its own, and each run takes the next of
    it. Without a seed the first operation of the function gets 0, the next one 1 and so on; so two
    functions draw the same numbers, and so do two operations of one seed. Branches, loop bodies and
    functions that are called begin at 0, too, and each call in a function's program draws for
    itself. The global seed is that of the moment of tracing.

    ``set_seed`` lets all of them start over, in functions with the seeds that they were traced
    with. Where there is no global seed, operations without one differ from run to run, and the rest
    take a fixed one. The numbers are not TensorFlow's.

    Args:
        seed: Any integer; None: there is no global seed.

    Example:
        >>> import tfx as tf
        >>> tf.random.set_seed(5)
        >>> a = tf.random.uniform([3])
        >>> tf.random.set_seed(5)
        >>> bool(tf.reduce_all(a == tf.random.uniform([3])))
        True
    """
    number = None if seed is None else _python_int(seed)
    with _global.lock, init_scope():
        _global.seed = number
        _global.seeded.clear()
        if _global.unseeded is not None:
            _global.unseeded.reset(_first_state(() if number is None else (number,)))
        for variable in generator_states():
            if variable.seeds is not None:
                variable.assign(_first_state(variable.seeds))


def _first_state(seeds: tuple[int, ...]) -> Tensor:
    """Return the initial state of a sequence with given seeds; without seeds a fresh one."""
    if not seeds:
        return _fresh_state()
    number = seeds[0] if len(seeds) == 1 else _mixed(*seeds)
    return create_rng_state(number, "philox")


def _both_seeds(seed: int) -> tuple[int, ...]:
    """The global seed and that of an operation."""
    return (_DEFAULT_SEED if _global.seed is None else _global.seed, seed)


def seeds_of_pipeline(seed: Any) -> tuple[int, int]:
    """Two seeds for what draws by itself, outside of tensors, such as a dataset that is shuffled.

    Args:
        seed: Its own seed; None: it has none, and takes one of the sequence of the global seed, or
            a fresh one where there is no global seed.
    """
    with _global.lock, init_scope():
        if seed is not None:
            first, second = _both_seeds(_python_int(seed))
            return first, second
        if _global.seed is None:
            return _signed(secrets.randbits(64)), _signed(secrets.randbits(64))
        drawn = distributions.new_seeds(eager_generator(), 2)
        first, second = (int(n) for n in np.asarray(drawn))
        return first, second


def restart(variable: Variable) -> None:
    """Let an operation of a graph draw from the beginning again, if it has seeds.

    Args:
        variable: A variable that the graph assigns; others than states of generators stay.
    """
    if variable.seeds:
        with init_scope():
            variable.assign(_first_state(variable.seeds))


def generator_for(seed: Any, *kind: Any) -> Generator:
    """The generator of an operation that is carried out, or added to a graph, now.

    Args:
        seed: The operation's own seed; None: it has none.
        *kind: What it draws: eagerly, operations of one kind and seed share a sequence.
    """
    graph = current().graph
    return _once(graph, lambda: _found_for(graph, seed, kind))


def _found_for(graph: FuncGraph | None, seed: Any, kind: tuple[Any, ...]) -> Generator:
    if graph is not None:
        own: Generator | None = graph.generator_for(seed)
        return generator_in(graph, seed) if own is None else own
    if seed is None:
        return eager_generator()
    number = _python_int(seed)
    key = (kind, number)
    with _global.lock:
        if key not in _global.seeded:
            seeds = _both_seeds(number)
            _global.seeded[key] = (_hidden_generator(state=_first_state(seeds)), seeds)
        return _global.seeded[key][0]


def eager_generator() -> Generator:
    """The generator of eager operations without a seed."""
    found = _global.unseeded
    if found is not None:
        return found
    with _global.lock, init_scope():
        if _global.unseeded is None:
            first = _first_state(() if _global.seed is None else (_global.seed,))
            _global.unseeded = _hidden_generator(state=first)
        return _global.unseeded


def generator_in(graph: FuncGraph, seed: Any) -> Generator:
    """The generator of one operation of a graph that has the given seed."""
    number = None if seed is None else _python_int(seed)
    if number is None and _global.seed is None:
        return _generator_of(())
    if number is None:
        number, graph.unseeded = graph.unseeded, graph.unseeded + 1
    return _generator_of(_both_seeds(number))


def _generator_of(seeds: tuple[int, ...]) -> Generator:
    """A generator for one operation, which ``set_seed`` starts again."""
    with _global.lock, init_scope():
        generator = _hidden_generator(state=_first_state(seeds))
        generator.state.seeds = seeds
    return generator


def state_of_another(variable: Variable) -> Variable:
    """The state of the same random operation where the function around is called once more."""
    seeds = variable.seeds
    assert seeds is not None
    if any(log.eager and log.given is not None for log in _ours(current().graph)):
        return variable  # eagerly, the function had its own
    return _once(current().graph, lambda: _generator_of(seeds)).state


class GeneratorLog:
    """The generators that a computation took, which is carried out twice with the same ones."""

    def __init__(self) -> None:
        self._taken: list[Generator] = []
        self._eager = current().graph is None

    @contextmanager
    def first(self) -> Iterator[None]:
        """Run the computation inside of this block."""
        with self._active(None):
            yield

    @contextmanager
    def again(self) -> Iterator[None]:
        """Repeat the computation inside of this block, perhaps in another graph."""
        with self._active(iter(list(self._taken))):
            yield

    @contextmanager
    def _active(self, given: Iterator[Generator] | None) -> Iterator[None]:
        log = _Log(current().graph, given, self._taken, self._eager)
        token = _logs.set((*_logs.get(), log))
        try:
            yield
        finally:
            _logs.reset(token)


class _Log(NamedTuple):
    """A computation that is going on: what is given if it is a second one, what was taken."""

    graph: FuncGraph | None
    given: Iterator[Generator] | None
    taken: list[Generator]
    eager: bool  # the first one was


_logs: ContextVar[tuple[_Log, ...]] = ContextVar("generator_logs", default=())


def _once(graph: FuncGraph | None, make: Callable[[], Generator]) -> Generator:
    """A generator that an operation takes now, or that it took in the first computation."""
    ours = _ours(graph)
    known = [next(log.given, None) for log in ours if log.given is not None]
    found = next((g for g in known if g is not None), None) or make()
    for log in ours:
        if log.given is None:
            log.taken.append(found)
    return found


def _ours(graph: FuncGraph | None) -> list[_Log]:
    """The computations that what is added to a graph is part of."""
    return [log for log in _logs.get() if _is_part(graph, log.graph)]


def _is_part(graph: FuncGraph | None, whole: FuncGraph | None) -> bool:
    """True if what is added to a graph happens in the program of another one."""
    while graph is not whole:
        if graph is None or not (graph.is_body or graph.is_element):
            return False
        graph = graph.parent
    return True


def _aside(state: Any, number: int) -> Any:
    """The state, as an array, of a sequence of its own for each number."""
    return np.array([0, state[1], _mixed(int(state[2]), number)], np.int64)


def _mixed(seed: int, op_seed: int) -> int:
    """One key from two seeds."""
    digest = hashlib.sha256(f"{seed}:{op_seed}".encode()).digest()
    return int.from_bytes(digest[:8], "little", signed=True)


def _python_int(seed: Any) -> int:
    known = static_int(as_int64(seed)) if isinstance(seed, Tensor) else int(seed)
    if known is None:
        raise InvalidArgumentError(
            f"A seed must be a Python integer here; got {seed!r}. Use the stateless functions for "
            "seeds that are computed."
        )
    return _signed(known)
