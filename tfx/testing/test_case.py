"""``tf.test.TestCase``: assertions about tensors, for tests that were written for TensorFlow.

Where ``absl-py`` is installed its ``TestCase`` is the base class, as it is TensorFlow's, so that
parameterized tests work; else it is Python's. New tests need none of it: ``tfx.testing`` has checks
for any test runner.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import tempfile
import threading
import unittest
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from tfx.core import dtypes, nest
from tfx.core.errors import InvalidArgumentError, OpError
from tfx.core.lazy_namespaces import fetch
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.context import current
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import Variable
from tfx.graph.serialization.protos import message_of_text
from tfx.ops.random.generator import set_seed
from tfx.runtime.devices import parse_device
from tfx.testing.compared_values import (
    as_bytes,
    as_plain,
    is_structure,
    text_of,
    value_of,
    widened,
)


def _runner_module() -> Any:
    """``absltest``, where it is installed, or Python's own."""
    try:
        from absl.testing import absltest
    except ImportError:
        return unittest
    return absltest


_runner = _runner_module()
_Base: Any = _runner.TestCase
# What TensorFlow's tests begin with.
_SEED = 87654321
_Array: TypeAlias = np.ndarray[Any, Any]


class _EagerSession:
    """What ``with self.session()`` gives where operations run at once: ``run`` gives values."""

    def __init__(self, case: TestCase) -> None:
        self._case = case

    def run(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """The values of tensors, as ``evaluate`` gives them."""
        if feed_dict:
            raise RuntimeError(
                "feed_dict is not supported when eager execution is enabled: there are no "
                f"placeholders to feed, but {len(feed_dict)} values were given. Compute with the "
                "values themselves, or build a tf.Graph."
            )
        return self._case.evaluate(fetches)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"There is no session in eager execution (session.{name}): operations have run when "
            "they return. Use self.evaluate(...) to get values."
        )


class TestCase(_Base):  # type: ignore[misc]
    """A test case with assertions about tensors and what can be converted to them.

    Each test begins with the same seeds. Tensors, variables and arrays may stand for one another;
    in a graph ``evaluate`` runs them in the session of the test.

    Example:
        >>> import tfx as tf
        >>> class SquareTest(tf.test.TestCase):
        ...     def test_square(self):
        ...         self.assertAllClose(tf.square([1.0, 2.0]), [1.0, 4.0])
        >>> SquareTest("test_square").run().wasSuccessful()
        True
    """

    __test__ = True

    def __init__(self, methodName: str = "runTest") -> None:  # noqa: N803
        super().__init__(methodName)
        self._temp_dir: str | None = None
        self._cached: Any = None
        self._threads: list[_CheckedThread] = []

    def setUp(self) -> None:
        """Begin with the same random numbers, and with an empty default graph."""
        super().setUp()
        self._cached = None
        random.seed(_SEED)
        np.random.seed(_SEED)
        with contextlib.suppress(AssertionError):  # a graph around the test stays what it is
            fetch("tfx.compat.v1", "reset_default_graph")()
        set_seed(_SEED)
        fetch("tfx.compat.v1", "set_random_seed")(_SEED)

    def tearDown(self) -> None:
        """End threads that the test began, its session, and its files."""
        for thread in self._threads:
            thread.check_termination()
        self._threads = []
        if self._cached is not None:
            self._cached.close()
            self._cached = None
        if self._temp_dir is not None:
            shutil.rmtree(self._temp_dir, ignore_errors=True)
            self._temp_dir = None
        super().tearDown()

    # Values

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors, variables and structures of them as NumPy arrays."""
        graph = current().graph
        if graph is None:
            return nest.map_structure(value_of, tensors)
        session = fetch("tfx.compat.v1", "get_default_session")()
        return (session or self._session_of(graph)).run(tensors)

    def evaluate_if_both_tensors(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Two values, evaluated together if both are tensors of a graph."""
        if isinstance(a, SymbolicTensor) and isinstance(b, SymbolicTensor):
            a, b = self.evaluate((a, b))
        return a, b

    def _array(self, x: Any) -> _Array:
        if isinstance(x, np.ndarray):
            return x
        if isinstance(x, SymbolicTensor):
            x = self.evaluate(x)
        elif isinstance(x, Tensor | Variable | IndexedSlices):
            x = value_of(x)
        if hasattr(x, "__array__") or not isinstance(x, Sequence) or isinstance(x, str | bytes):
            return np.asarray(x)
        return np.asarray([self._array(item) for item in x]) if len(x) else np.asarray(x)

    # Sessions

    @contextlib.contextmanager
    def session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Iterator[Any]:
        """A session of a graph; in eager execution its ``run`` gives the values of tensors.

        Args:
            graph: The graph; None: the default graph.
            config: Passed to the session.
            use_gpu: Accepted for compatibility: operations run where their devices say.
            force_gpu: Likewise.
        """
        if graph is None and current().graph is None:
            yield _EagerSession(self)
            return
        with fetch("tfx.compat.v1", "Session")(graph=graph, config=config) as session:
            yield session

    @contextlib.contextmanager
    def cached_session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Iterator[Any]:
        """The session of the test, the same in all its ``with`` blocks; see ``session``."""
        if graph is None and current().graph is None:
            yield _EagerSession(self)
            return
        session = self._session_of(current().graph if graph is None else graph, config)
        with session.graph.as_default(), session.as_default():
            yield session

    def test_session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Any:
        """``cached_session``, or ``session`` of a graph that is given."""
        if self.id().endswith(".test_session"):
            self.skipTest("Not a test.")  # runners take it for one
        kind = self.cached_session if graph is None else self.session
        return kind(graph, config, use_gpu, force_gpu)

    def _session_of(self, graph: Any, config: Any = None) -> Any:
        if self._cached is not None and self._cached.graph is not graph:
            raise ValueError(
                "The graph used to get the cached session is different than the one that was used "
                "to create the session. Use self.session(graph) instead."
            )
        if self._cached is None:
            self._cached = fetch("tfx.compat.v1", "Session")(graph=graph, config=config)
        return self._cached

    # Files, streams, threads

    def get_temp_dir(self) -> str:
        """A folder of the test, which is removed after it."""
        if self._temp_dir is None:
            self._temp_dir = tempfile.mkdtemp(prefix="tfx_test_")
        return self._temp_dir

    @contextlib.contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator[Any]:  # noqa: N802
        """What is written to a stream such as ``sys.stderr`` meanwhile; see its ``contents()``."""
        number = stream.fileno()
        with tempfile.TemporaryFile() as file:
            stream.flush()
            kept = os.dup(number)
            os.dup2(file.fileno(), number)
            captured = _Captured(stream, file)
            try:
                yield captured
            finally:
                captured.finish()
                os.dup2(kept, number)
                os.close(kept)

    def checkedThread(  # noqa: N802
        self, target: Callable[..., Any], args: Any = None, kwargs: Any = None
    ) -> _CheckedThread:
        """A thread whose exceptions fail the test: start it, and join it."""
        thread = _CheckedThread(self, target, args or (), kwargs or {})
        self._threads.append(thread)
        return thread

    # Nearly equal

    def assertAllClose(  # noqa: N802
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None
    ) -> None:
        """Assert that structures hold nearly the same numbers, in the same shapes.

        Args:
            a: Tensor, array, number, or a list, tuple or dict of these.
            b: The same.
            rtol: Allowed difference relative to ``b``.
            atol: Allowed absolute difference.
            msg: Put in front of the message.
        """
        a, b = self.evaluate_if_both_tensors(a, b)
        self._all_close(a, b, rtol, atol, [], msg)

    def _all_close(
        self, a: Any, b: Any, rtol: float, atol: float, path: list[str], msg: Any
    ) -> None:
        a, b = as_plain(a), as_plain(b)
        place = "".join(path)
        if isinstance(a, Mapping) != isinstance(b, Mapping):
            raise ValueError(
                f"Can't compare dict to non-dict, a{place} vs b{place}. {text_of(msg)}"
            )
        if isinstance(a, Mapping):
            self.assertCountEqual(a.keys(), b.keys(), f"mismatched keys: a{place} {text_of(msg)}")
            for key in a:
                self._all_close(a[key], b[key], rtol, atol, [*path, f"[{key!r}]"], msg)
        elif isinstance(a, list | tuple) and is_structure(a, b):
            self.assertEqual(len(a), len(b), f"Mismatched length: a{place} {text_of(msg)}")
            for i, (x, y) in enumerate(zip(a, b, strict=True)):
                self._all_close(x, y, rtol, atol, [*path, f"[{i}]"], msg)
        else:
            self._arrays_close(a, b, rtol, atol, place, msg)

    def _arrays_close(self, a: Any, b: Any, rtol: float, atol: float, place: str, msg: Any) -> None:
        x, y = widened(self._array(a)), widened(self._array(b))
        self.assertEqual(
            x.shape, y.shape, f"Shape mismatch: expected {y.shape}, got {x.shape}. {text_of(msg)}"
        )
        if np.allclose(x, y, rtol=rtol, atol=atol, equal_nan=False) or (
            x.dtype.kind not in "fc" and bool(np.all(x == y))
        ):
            return
        if bool(np.array_equal(np.isnan(x), np.isnan(y))) and np.allclose(
            x, y, rtol=rtol, atol=atol, equal_nan=True
        ):
            return
        with np.errstate(invalid="ignore"):
            wrong = ~np.isclose(x, y, rtol=rtol, atol=atol, equal_nan=True)
            distance = np.abs(x - y)[wrong] if x.dtype.kind != "b" else wrong[wrong]
        self.fail(
            f"a{place} and b{place} not close (rtol = {rtol}, atol = {atol}) {text_of(msg)}\n"
            f"not close where = {np.where(wrong) if x.shape else ''}\n"
            f"not close lhs = {x[wrong] if x.shape else x}\n"
            f"not close rhs = {y[wrong] if y.shape else y}\n"
            f"not close dif = {distance}\ndtype = {x.dtype}, shape = {x.shape}"
        )

    def assertAllCloseAccordingToType(  # noqa: N802
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: Any = None,
    ) -> None:
        """``assertAllClose`` with the tolerance of the coarser dtype of the two."""
        a, b = self.evaluate_if_both_tensors(a, b)
        leaves = [x for part in (a, b) for x in nest.flatten(part)]
        kinds = {dtypes.as_dtype(self._array(x).dtype) for x in leaves}
        for kind, relative, absolute in (
            (dtypes.float32, float_rtol, float_atol),
            (dtypes.complex64, float_rtol, float_atol),
            (dtypes.float16, half_rtol, half_atol),
            (dtypes.bfloat16, bfloat16_rtol, bfloat16_atol),
        ):
            if kind in kinds:
                rtol, atol = max(rtol, relative), max(atol, absolute)
        self.assertAllClose(a, b, rtol=rtol, atol=atol, msg=msg)

    def assertNotAllClose(  # noqa: N802
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None
    ) -> None:
        """Assert that ``assertAllClose`` would fail."""
        try:
            self.assertAllClose(a, b, rtol=rtol, atol=atol, msg=msg)
        except AssertionError:
            return
        raise AssertionError(f"The two values are close at all elements. {text_of(msg)}")

    def assertNear(self, f1: float, f2: float, err: float, msg: Any = None) -> None:  # noqa: N802
        """Assert that two numbers differ by ``err`` at most."""
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, f"{f1} != {f2} +/- {err} {text_of(msg)}")

    def assertArrayNear(  # noqa: N802
        self, farray1: Iterable[float], farray2: Iterable[float], err: float, msg: Any = None
    ) -> None:
        """Assert that the numbers of two rows differ by ``err`` at most."""
        first, second = list(farray1), list(farray2)
        self.assertEqual(len(first), len(second), msg=msg)
        for f1, f2 in zip(first, second, strict=True):
            self.assertNear(float(f1), float(f2), err, msg)

    def assertNDArrayNear(  # noqa: N802
        self, ndarray1: Any, ndarray2: Any, err: float, msg: Any = None
    ) -> None:
        """Assert that the distance of two arrays, as vectors, is below ``err``."""
        distance = float(np.linalg.norm(self._array(ndarray1) - self._array(ndarray2)))
        self.assertLess(distance, err, msg)

    # Equal

    def assertAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:  # noqa: N802
        """Assert that two tensors or arrays have the same shape and elements; NaN equals NaN."""
        a, b = self.evaluate_if_both_tensors(a, b)
        x, y = as_bytes(self._array(a)), as_bytes(self._array(b))
        self.assertEqual(
            x.shape, y.shape, f"Shape mismatch: expected {y.shape}, got {x.shape}. {text_of(msg)}"
        )
        same = np.asarray(x == y)
        if x.dtype.kind in "fcV" and y.dtype.kind in "fcV":
            same = same | (np.isnan(widened(x)) & np.isnan(widened(y)))
        if not same.all():
            wrong = ~same
            self.fail(
                f"Arrays are not equal. {text_of(msg)}\n"
                f"not equal where = {np.where(wrong) if x.shape else ''}\n"
                f"not equal lhs = {x[wrong] if x.shape else x}\n"
                f"not equal rhs = {y[wrong] if y.shape else y}"
            )

    def assertNotAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:  # noqa: N802
        """Assert that ``assertAllEqual`` would fail."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        raise AssertionError(f"The two values are equal at all elements. {text_of(msg)}")

    def assertShapeEqual(  # noqa: N802
        self, input_a: Any, input_b: Any, msg: Any = None
    ) -> None:
        """Assert that tensors or arrays have the same static shape."""
        shapes = [tuple(np.shape(x)) if isinstance(x, np.ndarray) else tuple(x.shape) for x in (
            input_a, input_b)]  # fmt: skip
        self.assertEqual(shapes[0], shapes[1], msg)

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:  # noqa: N802
        """Assert that a tensor, array, or list of them, has a dtype."""
        for x in target if isinstance(target, list) else [target]:
            self.assertEqual(dtypes.as_dtype(self._array(x).dtype), dtypes.as_dtype(expected_dtype))

    def assertDeviceEqual(  # noqa: N802
        self, device1: str | None, device2: str | None, msg: Any = None
    ) -> None:
        """Assert that two names are those of one device; an empty name is none, as None is."""
        names = [parse_device(d) if d else None for d in (device1, device2)]
        self.assertEqual(names[0], names[1], f"Devices {device1} and {device2} are not equal. "
                         f"{text_of(msg)}")  # fmt: skip

    # Within limits

    def _compare(self, a: Any, target: Any, holds: Callable[[Any, Any], Any], words: str) -> None:
        x, y = self._array(a), self._array(target)
        kept = holds(x, y)
        if not np.all(kept):
            self.fail(f"{np.extract(~kept, x)} of {x} {words} {y}")

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:  # noqa: N802
        """Assert that all elements are above a number."""
        self._compare(a, comparison_target, np.greater, "not greater than")

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:  # noqa: N802
        """Assert that all elements are at or above a number."""
        self._compare(a, comparison_target, np.greater_equal, "not greater than or equal to")

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:  # noqa: N802
        """Assert that all elements are below a number."""
        self._compare(a, comparison_target, np.less, "not less than")

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:  # noqa: N802
        """Assert that all elements are at or below a number."""
        self._compare(a, comparison_target, np.less_equal, "not less than or equal to")

    def assertAllInRange(  # noqa: N802
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Assert that all elements are between two numbers, which belong to them unless open."""
        x = self._array(target)
        if x.dtype.kind not in "fciu" and x.dtype.kind != "V":
            raise AssertionError(f"The value of {target!r} does not have numeric elements.")
        above = np.less_equal(x, lower_bound) if open_lower_bound else np.less(x, lower_bound)
        below = np.greater_equal(x, upper_bound) if open_upper_bound else np.greater(x, upper_bound)
        wrong = above | below | np.isnan(widened(x))
        if np.any(wrong):
            left, right = "(["[not open_lower_bound], ")]"[not open_upper_bound]
            self.fail(
                f"The value of {target!r} is out of range "
                f"{left}{lower_bound}, {upper_bound}{right}: {np.extract(wrong, x)} at "
                f"{np.where(wrong) if x.shape else ''}"
            )

    def assertAllInSet(self, target: Any, expected_set: Iterable[Any]) -> None:  # noqa: N802
        """Assert that all elements are among some."""
        x = self._array(target)
        extra = np.setdiff1d(np.unique(x), list(expected_set))
        if extra.size:
            raise AssertionError(
                f"{extra.size} unique element(s) are not in {expected_set}: {extra}"
            )

    # Errors and texts

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(  # noqa: N802
        self, exception_type: Any, expected_err_re_or_predicate: Any
    ) -> Iterator[None]:
        """Assert that an exception is raised whose message has a pattern, or that a function takes.

        Args:
            exception_type: Class of the exception, or a tuple of classes.
            expected_err_re_or_predicate: Regular expression, searched in the message and in the
                name of the operation; or a function of the exception.
        """
        try:
            yield
        except exception_type as e:
            predicate = expected_err_re_or_predicate
            matches = (
                predicate(e)
                if callable(predicate)
                else re.search(predicate, e.message if isinstance(e, OpError) else str(e))
            )
            if not matches:
                raise AssertionError(f"Exception of type {type(e)}: {e} does not match") from e
            return
        self.fail(f"{exception_type} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:  # noqa: N802
        """``assertRaisesWithPredicateMatch`` of ``tf.errors.OpError``."""
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)

    def assertRaisesIncompatibleShapesError(  # noqa: N802
        self, exception_type: Any = InvalidArgumentError
    ) -> Any:
        """Assert that an operation refuses the shapes of its operands."""
        return self.assertRaises((exception_type, InvalidArgumentError, ValueError))

    def assertStartsWith(self, actual: str, expected_start: str, msg: Any = None) -> None:  # noqa: N802
        """Assert how a text begins."""
        if not actual.startswith(expected_start):
            self.fail(f"{actual!r} does not start with {expected_start!r} {text_of(msg)}")

    def assertProtoEquals(  # noqa: N802
        self, expected_message_maybe_ascii: Any, message: Any, msg: Any = None
    ) -> None:
        """Assert that two protobufs are equal; the expected one may be given as text."""
        expected = expected_message_maybe_ascii
        if isinstance(expected, str | bytes):
            expected = message_of_text(expected, type(message))
        self.assertEqual(expected, message, msg)

    assertProtoEqualsVersion = assertProtoEquals  # noqa: N815


class _CheckedThread:
    def __init__(self, case: TestCase, target: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self._case, self._target, self._args, self._kwargs = case, target, args, kwargs
        self._exception: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._joined = False

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def join(self) -> None:
        """Wait for the end; an exception in the thread fails the test."""
        self._joined = True
        self._thread.join()
        if self._exception is not None:
            self._case.fail(f"Error in checkedThread: {self._exception}")

    def is_alive(self) -> bool:
        """True if it runs."""
        return self._thread.is_alive()

    def check_termination(self) -> None:
        """Fail the test if the thread runs on, or was not joined."""
        if self.is_alive():
            self._case.fail("A checkedThread was still running when the test ended.")
        if self._exception is not None and not self._joined:
            self._case.fail(f"Error in a checkedThread that was not joined: {self._exception}")

    def _run(self) -> None:
        try:
            self._target(*self._args, **self._kwargs)
        except BaseException as e:
            self._exception = e


class _Captured:
    def __init__(self, stream: Any, file: Any) -> None:
        self._stream, self._file = stream, file
        self._text: str | None = None

    def contents(self) -> str:
        """What was written so far."""
        if self._text is not None:
            return self._text
        self._stream.flush()
        self._file.seek(0)
        text: str = self._file.read().decode(errors="replace")
        return text

    def finish(self) -> None:
        """Keep what was written."""
        self._text = self.contents()


def main(argv: Any = None) -> None:
    """Run the tests of the program, as ``unittest.main`` does.

    Args:
        argv: Arguments of the program; None: those of the process.
    """
    if argv is None:
        _runner.main()
    else:
        _runner.main(argv=argv)
