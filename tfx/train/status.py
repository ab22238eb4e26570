"""The result of ``restore``: assertions and a report on what was restored.

Owns TensorFlow's assertions and their messages. Must not know how objects are matched. The one
decision: the whole table is always shown, in the error message too. The ``save_counter`` of
the checkpoint itself never counts, so ``read`` takes what ``save`` wrote and the other way round.
"""

from __future__ import annotations

from typing import Any, NoReturn, Self

from tfx.train.report import RestoreReport
from tfx.train.restore import SHARED, Restore


class CheckpointLoadStatus:
    """The outcome of ``Checkpoint.restore`` or ``read``; ``print`` it to see a table.

    Each question looks again for variables that have appeared meanwhile, and restores them.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = tf.train.Checkpoint(kernel=tf.Variable(1.0)).write(folder + "/c")
        ...     status = tf.train.Checkpoint(kernels=tf.Variable(0.0)).read(path).expect_partial()
        >>> status.report.suggested_renames
        {'kernel': 'kernels'}
    """

    def __init__(self, restore: Restore, root: Any, also_root: Any) -> None:
        """Keep the restored objects alive as long as the status is."""
        self._restore = restore
        self._root = root
        self._also_root = also_root

    @property
    def report(self) -> RestoreReport:
        """Return the outcome for each value of the checkpoint and each variable of the program."""
        self._restore.settle()
        return self._restore.report(self._root, self._also_root)

    def assert_consumed(self) -> Self:
        """Check that program and checkpoint have exactly the same variables, all restored.

        Returns:
            The status.

        Raises:
            AssertionError: not all values were used, or not all variables restored.
        """
        report = self.report
        # Where the program shares a variable, one of the values was enough.
        unexpected = [row for row in report.unexpected if row.note != SHARED]
        if unexpected or report.clashes or report.missing:
            _fail("Checkpoint and program do not have the same variables", report)
        self._restore.quiet = True
        return self

    def assert_existing_objects_matched(self) -> Self:
        """Check that every variable the program has now was restored.

        The checkpoint may have more, for example for variables that are created later.

        Returns:
            The status.

        Raises:
            AssertionError: a variable was not restored.
        """
        report = self.report
        if report.clashes or report.missing:
            _fail("Some variables of the program were not restored", report)
        return self

    def assert_nontrivial_match(self) -> Self:
        """Check that something besides the root was found in the checkpoint.

        Unlike in TensorFlow the ``save_counter``, which every saved checkpoint has, is not enough.

        Returns:
            The status.

        Raises:
            AssertionError: nothing was: no variable, and no object that could get one.
        """
        report = self.report
        if not self._restore.has_matched:
            what = (
                "Nothing was restored: checkpoint and program have nothing in common"
                if report.missing or report.clashes
                else "Nothing was restored: the program has no objects that could be yet"
            )
            _fail(what, report)
        return self

    def expect_partial(self) -> Self:
        """Expect values to be left over, so that no warning is given.

        Returns:
            The status.
        """
        self._restore.quiet = True
        return self

    def initialize_or_restore(self, session: None = None) -> None:
        """Restore what has appeared meanwhile; variables are initialized when they are made."""
        self._restore.settle()

    def run_restore_ops(self, session: None = None) -> None:
        """Same as ``initialize_or_restore``."""
        self.initialize_or_restore(session)

    def __str__(self) -> str:
        """Return the report's table."""
        return str(self.report)


class InitializationOnlyStatus:
    """The outcome of ``restore(None)``: there was no checkpoint."""

    def assert_consumed(self) -> NoReturn:
        """Raise: nothing was restored.

        Raises:
            AssertionError: always.
        """
        raise AssertionError(
            "No checkpoint specified (save_path=None); nothing is being restored. Expected a path, "
            "for example tf.train.latest_checkpoint(directory) after the first save."
        )

    assert_existing_objects_matched = assert_consumed
    assert_nontrivial_match = assert_consumed
    run_restore_ops = assert_consumed

    def expect_partial(self) -> Self:
        """Return the status."""
        return self

    def initialize_or_restore(self, session: None = None) -> None:
        """Do nothing: variables are initialized when they are made."""

    def __str__(self) -> str:
        """Return a text that nothing was restored."""
        return "No checkpoint specified (save_path=None); nothing was restored."


def _fail(what: str, report: RestoreReport) -> NoReturn:
    raise AssertionError(f"{what}.\n{report}")
