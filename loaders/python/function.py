"""A function of a bundle, ready to be called: which of its graphs runs.

Owns the choice between the frozen form, in which ONNX Runtime holds the weights (and has folded and
prepacked them), and the live form, in which they are fed. Must not know of signatures. The one
decision: the frozen form serves as long as each variable that it holds is as it was loaded; from
the first assignment on the live form does, for good. Where the bundle has no live form, it is the
frozen one with its initializers made inputs.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

import numpy as np

from tfx.bundle.manifest import ConcreteFunctionEntry
from tfx.core.errors import AbortedError
from tfx.loaders.open_files import Sources
from tfx.loaders.plan import Plan
from tfx.loaders.state import Snapshot, Value
from tfx.runtime.fork_safe_locks import fork_safe
from tfx.runtime.values import RawValue


class LoadedFunction:
    """One concrete function of an open bundle; its sessions open when they are first needed.

    Args:
        sources: The bundle's files.
        entry: The function's entry in the manifest.
        device: Canonical device name.
        freeze: Whether the frozen form may be used at all.
        version: The version of the bundle that ``sources`` is, see ``Snapshot``.

    Attributes:
        updates: Ids of the variables that a call replaces.
    """

    def __init__(
        self,
        sources: Sources,
        entry: ConcreteFunctionEntry,
        device: str,
        *,
        freeze: bool,
        version: int = 0,
    ) -> None:
        """Take note; no file is opened."""
        self._version = version
        self._sources = sources
        self._entry = entry
        self._device = device
        self._frozen_ids = frozenset(item.variable for item in entry.graph.frozen_variables)
        self._may_freeze = freeze or not self._frozen_ids
        # With the version whose weights it holds: a call that began before a reload must not mix
        # them with the values that it has.
        self._frozen: tuple[int, Plan] | None = None
        self._live: Plan | None = None
        self._lock = fork_safe(threading.Lock())
        self.updates = frozenset(
            item.index for item in entry.graph.outputs if item.target == "variable"
        )

    def call(
        self, arguments: Mapping[int, RawValue], snapshot: Snapshot, what: str
    ) -> tuple[dict[int, np.ndarray], dict[int, Value]]:
        """Run the form that is right for the variables in ``snapshot``; see ``Plan.run``."""
        return self.plan(snapshot).run(arguments, snapshot, what)

    def plan(self, snapshot: Snapshot) -> Plan:
        """Return the session for the variables in ``snapshot``, opened now if need be."""
        if self._may_freeze and self._is_as_saved(snapshot):
            frozen = self._frozen
            if frozen is not None and (not self._frozen_ids or frozen[0] == snapshot.version):
                return frozen[1]
            plan = self._open_frozen(snapshot)
            if plan is not None:
                return plan
        return self._live or self._open_live()

    def _is_as_saved(self, snapshot: Snapshot) -> bool:
        """True if the variables that the frozen form holds are those of the files."""
        return not self._frozen_ids or (
            snapshot.version == self._version and self._frozen_ids.isdisjoint(snapshot.changed)
        )

    @property
    def live(self) -> Plan | None:
        """The open session that is fed with all variables, if there is one."""
        return self._live

    def prepare_reload(self) -> Plan | None:
        """Return a session that can be fed with other variables, if one is open for these.

        Raises:
            OpError: The graph takes no changing values.
        """
        with self._lock:
            if self._frozen is None or not self._frozen_ids:
                return self._live
            return self._live or self._make_live()

    def reload(self, sources: Sources, version: int, live: Plan | None) -> None:
        """Go on with another version of the bundle; see ``prepare_reload``."""
        with self._lock:
            self._sources = sources
            self._version = version
            if self._frozen_ids:
                self._frozen = None
                self._live = live
                # The open session is fed from now on, whatever comes.
                self._may_freeze = self._may_freeze and live is None

    def _open_frozen(self, snapshot: Snapshot) -> Plan | None:
        """The session that holds the weights; None: they are no longer those of the snapshot."""
        with self._lock:
            if not self._may_freeze or not self._is_as_saved(snapshot):
                return None  # the bundle was reloaded meanwhile
            if self._frozen is None:
                try:
                    plan = Plan(self._sources, self._entry.graph, self._device)
                except AbortedError:
                    # Another bundle was saved in this one's place. The weights that this one was
                    # opened with are mapped yet, so they are fed.
                    if not self._frozen_ids:
                        raise
                    plan = self._make_live()
                self._frozen = self._version, plan
            return self._frozen[1]

    def _open_live(self) -> Plan:
        with self._lock:
            if self._live is None:
                self._live = self._make_live()
                # A change is never undone: no call to come needs the frozen session's weights.
                self._frozen = None
            return self._live

    def _make_live(self) -> Plan:
        live = self._entry.live_graph
        if live is not None:
            return Plan(self._sources, live, self._device)
        return Plan(self._sources, self._entry.graph, self._device, thaw=True)
