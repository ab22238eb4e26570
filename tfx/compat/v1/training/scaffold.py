"""``Scaffold``: what a monitored session needs of a graph, and the session that it makes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from tfx.compat.v1.files.summaries import merge_all
from tfx.compat.v1.graph.collections import GraphKeys
from tfx.compat.v1.graph.default_graph import building
from tfx.compat.v1.ops.grouping import group
from tfx.compat.v1.training.saver import Saver
from tfx.compat.v1.training.session_manager import SessionManager
from tfx.compat.v1.variables.initialization import (
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
    tables_initializer,
)
from tfx.core.errors import InvalidArgumentError


class Scaffold:
    """The parts of a graph that start its training: what is not given is made by ``finalize``.

    Args:
        init_op: Initializes the variables; None: all global ones.
        init_feed_dict: What to feed ``init_op``.
        init_fn: ``f(scaffold, session)``, called after ``init_op``.
        ready_op: A tensor of the names of variables without a value; None: of all variables.
        ready_for_local_init_op: The same before ``local_init_op`` runs.
        local_init_op: Runs in every new session; None: local variables and tables.
        summary_op: All summaries; None: those of the graph's collection.
        saver: The ``Saver``; None: that of the graph's collection, or a new one.
        copy_from_scaffold: A scaffold whose parts are used where none are given.
        local_init_feed_dict: What to feed ``local_init_op``.
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Any, Any], Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Any = None,
        copy_from_scaffold: Scaffold | None = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
            raise TypeError(
                f"copy_from_scaffold is not a Scaffold instance: {copy_from_scaffold!r}."
            )
        other = copy_from_scaffold

        def chosen(name: str, given: Any) -> Any:
            return getattr(other, name) if given is None and other is not None else given

        self._init_op = chosen("_init_op", init_op)
        self._init_feed_dict = chosen("_init_feed_dict", init_feed_dict)
        own = None if init_fn is None else lambda session: init_fn(self, session)
        self._init_fn: Callable[[Any], Any] | None = chosen("_init_fn", own)
        self._ready_op = chosen("_ready_op", ready_op)
        self._ready_for_local_init_op = chosen("_ready_for_local_init_op", ready_for_local_init_op)
        self._local_init_op = chosen("_local_init_op", local_init_op)
        self._local_init_feed_dict = chosen("_local_init_feed_dict", local_init_feed_dict)
        self._summary_op = chosen("_summary_op", summary_op)
        self._saver = chosen("_saver", saver)

    def finalize(self) -> Self:
        """Make what is missing, and let the graph be changed no more.

        Raises:
            RuntimeError: a collection of the graph has several parts of one kind.
        """
        keys = GraphKeys
        if self._init_op is None:
            self._init_op = self.get_or_default(
                "init_op", keys.INIT_OP, lambda: group(global_variables_initializer())
            )
        if self._ready_op is None:
            self._ready_op = self.get_or_default(
                "ready_op", keys.READY_OP, report_uninitialized_variables
            )
        if self._ready_for_local_init_op is None:
            self._ready_for_local_init_op = self.get_or_default(
                "ready_for_local_init_op",
                keys.READY_FOR_LOCAL_INIT_OP,
                lambda: report_uninitialized_variables(
                    building().get_collection(keys.GLOBAL_VARIABLES)
                ),
            )
        if self._local_init_op is None:
            self._local_init_op = self.get_or_default(
                "local_init_op", keys.LOCAL_INIT_OP, self.default_local_init_op
            )
        if self._summary_op is None:
            self._summary_op = self.get_or_default("summary_op", keys.SUMMARY_OP, merge_all)
        if self._saver is None:
            self._saver = self.get_or_default(
                "saver", keys.SAVERS, lambda: Saver(allow_empty=True, defer_build=True)
            )
        self._saver.build()
        building().finalize()
        return self

    @property
    def init_op(self) -> Any:
        """Initializes the variables."""
        return self._init_op

    @property
    def init_feed_dict(self) -> Any:
        """What ``init_op`` is fed."""
        return self._init_feed_dict

    @property
    def init_fn(self) -> Any:
        """A function of the session that is called after ``init_op``."""
        return self._init_fn

    @property
    def ready_op(self) -> Any:
        """The names of variables without a value."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """The names of variables without a value before ``local_init_op``."""
        return self._ready_for_local_init_op

    @property
    def local_init_op(self) -> Any:
        """What runs in every new session."""
        return self._local_init_op

    @property
    def local_init_feed_dict(self) -> Any:
        """What ``local_init_op`` is fed."""
        return self._local_init_feed_dict

    @property
    def summary_op(self) -> Any:
        """All summaries; None: there are none."""
        return self._summary_op

    @property
    def saver(self) -> Any:
        """The saver."""
        return self._saver

    @staticmethod
    def get_or_default(arg_name: str, collection_key: Any, default_constructor: Any) -> Any:
        """Return the one element of a collection, which is made if there is none.

        Args:
            arg_name: What an error calls it.
            collection_key: The collection of the default graph.
            default_constructor: Makes it; None is not kept.

        Raises:
            RuntimeError: the collection has several.
        """
        elements = building().get_collection(collection_key)
        if len(elements) > 1:
            raise RuntimeError(
                f"More than one item in the collection {collection_key!r}: please indicate which "
                f"one to use by passing it to the Scaffold constructor as: "
                f"tf.compat.v1.train.Scaffold({arg_name}=item to use)"
            )
        if elements:
            return elements[0]
        made = default_constructor()
        if made is not None:
            building().add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op() -> Any:
        """Initializes local variables and tables."""
        return group(local_variables_initializer(), tables_initializer())


class SessionCreator:
    """Base class of what makes the session of a monitored session."""

    def create_session(self) -> Any:
        """Make the session.

        Raises:
            NotImplementedError: here; a subclass makes one.
        """
        raise NotImplementedError(f"create_session is not implemented for {self!r}.")


class ChiefSessionCreator(SessionCreator):
    """Makes sessions that hold the latest checkpoint, or freshly initialized variables.

    Args:
        scaffold: The parts of the graph; None: the usual ones.
        master: Must be empty.
        config: Accepted for compatibility.
        checkpoint_dir: The folder whose latest checkpoint is restored, if there is one.
        checkpoint_filename_with_path: The checkpoint to restore, in place of a folder.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master = master
        self._config = config
        self._folder = checkpoint_dir
        self._path = checkpoint_filename_with_path

    def create_session(self) -> Any:
        """Make the session.

        Raises:
            ValueError: a folder and a checkpoint are both given.
            RuntimeError: variables are without a value.
        """
        scaffold = self._scaffold.finalize()
        manager = SessionManager(
            scaffold.local_init_op,
            scaffold.ready_op,
            scaffold.ready_for_local_init_op,
            local_init_feed_dict=scaffold.local_init_feed_dict,
        )
        return manager.prepare_session(
            self._master,
            init_op=scaffold.init_op,
            saver=scaffold.saver,
            checkpoint_dir=self._folder,
            checkpoint_filename_with_path=self._path,
            config=self._config,
            init_feed_dict=scaffold.init_feed_dict,
            init_fn=scaffold.init_fn,
        )


def require_chief(is_chief: bool) -> None:
    """Refuse to be one of several workers.

    Raises:
        InvalidArgumentError: not the chief.
    """
    if not is_chief:
        raise InvalidArgumentError(
            "is_chief is False, but there is one process, which is the chief: leave is_chief out."
        )
