"""Putting the values of a checkpoint into live objects, now and when objects appear later.

Owns the matching: objects and nodes of the checkpoint are paired from the root down, by the names
of the edges, and each pair stays. Must not know of numbering or of folders. The one decision: a
value is used once and a variable is restored once, whatever is assigned later; and all that could
be wrong is found before the first variable changes.
"""

from __future__ import annotations

import functools
import threading
import warnings
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.core.source import user_frame
from tfx.framework import awaited_variables, deferred_restores
from tfx.framework.deferred_restores import AutoTrackable
from tfx.framework.trackable import is_container, path_text, slots_of, walk
from tfx.framework.variable import Variable, install, living
from tfx.framework.variable_locks import in_order, installs, writing, writing_if_free
from tfx.runtime import values
from tfx.runtime.fork_safe_locks import fork_safe
from tfx.train.attachment_points import Place, mark_of
from tfx.train.object_graph import SavedNode, edges_of
from tfx.train.reader import CheckpointReader
from tfx.train.report import Form, RestoreReport, Row, make_report

COUNTER = "save_counter"
_LISTED = 10
SHARED = "shared in the program, not in the checkpoint"


class Restore:
    """One restore: the checkpoint, and which of its values have found their variable.

    Objects are held weakly. As long as values are left over and some object that they may belong to
    lives, the restore is registered with ``deferred_restores`` and hears of new parts of these
    objects.

    Attributes:
        quiet: No warning about values that are left over.
    """

    def __init__(
        self, reader: CheckpointReader, nodes: Sequence[SavedNode], skip_mismatch: bool
    ) -> None:
        self._reader = reader
        self._nodes = nodes
        self._skip_mismatch = skip_mismatch
        self._lock = fork_safe(threading.RLock())
        self._objects: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._bound: dict[int, weakref.ref[Any]] = {}
        # What restored variables are, by id; None: a later restore has taken the variable over.
        self._variables: dict[int, tuple[weakref.ref[Variable], int | None]] = {}
        self._clashes: dict[int, weakref.ref[Variable]] = {}
        self._values = {n for n, node in enumerate(nodes) if node.key is not None}
        self._left = set(self._values)
        self._matched: set[int] = set()
        # Places that may get parts without anybody telling; None: not known now.
        self._watched: list[Place] | None = None
        self.quiet = False

    def begin(self, root: Any, also_root: Any) -> None:
        """Restore existing objects; ``also_root`` is another object that acts as the root.

        Raises:
            InvalidArgumentError: dtypes or shapes differ.
            BundleError: the checkpoint is damaged.
        """
        self._reader.verify_small()
        self._bind(root, 0)
        if also_root is not None:
            self._remember(also_root, 0)
        deferred_restores.register(self)
        try:
            self._match([(root, 0)], whole=True)
        except BaseException:
            self._end()
            raise
        if self._watched and self._left:
            for variable in tuple(living.values()):
                if not self._is_restored(variable):
                    awaited_variables.wait(variable)

    # Hearing of new parts

    def assigned(self, owner: Any, name: str, value: Any) -> None:
        """``owner.name`` is ``value`` from now on."""
        number = self._number(owner)
        if number is None:
            return
        child = self._nodes[number].children.get(name)
        if child is not None:
            self._match([(value, child)])

    def changed(self, owner: Any) -> None:
        """Match new parts in the attributes of ``owner``."""
        number = self._number(owner)
        if number is not None:
            self._match([(owner, number)])

    def traced(self, variables: Iterable[Any], created: Iterable[Any]) -> None:
        """A function is about to run first: its new variables get their values."""
        used = list(variables)
        new = {
            id(variable) for variable in (*created, *filter(awaited_variables.is_awaiting, used))
        }
        if new:
            self._match(self._roots(), only=new)
        if any(self._is_restored(variable) for variable in used):
            self.warn("A function is called first")

    def created(self, variable: Variable) -> None:
        """Register a new variable, which may belong to a place that nobody has reported."""
        if self._watched is None or self._watched:
            self._watched = None
            awaited_variables.wait(variable)

    def look(self) -> bool:
        """An awaiting variable is about to be used; whether looking again later makes sense."""
        if not self._lock.acquire(blocking=False):  # another thread looks; never wait for it here
            return True
        try:
            if self._watched is not None and not any(place.changed() for place in self._watched):
                return bool(self._watched)
            self._match(self._roots(), whole=True, patient=False)
            return self._watched is None or bool(self._watched)
        finally:
            self._lock.release()

    def settle(self) -> None:
        """Look for variables that appeared where nobody could tell, such as in a list."""
        self._match(self._roots(), whole=True)

    def superseded(self, variable: Variable) -> None:
        """Another restore has given the variable its value."""
        self._variables[id(variable)] = (weakref.ref(variable), None)

    def concerns(self, root: Any) -> bool:
        """True if this is a restore of this object."""
        return self._number(root) == 0

    def cancel(self) -> None:
        """Forget the values that are left over."""
        self._end()

    def warn(self, when: str) -> None:
        """Warn, once, if there are values left over."""
        keys = self._left_keys()
        if self.quiet or not keys:
            return
        self.quiet = True
        more = f" and {len(keys) - _LISTED} more" if len(keys) > _LISTED else ""
        user = user_frame()
        warnings.warn_explicit(
            f"{when} while values of {self._reader.path} are still not restored ({len(keys)}), "
            f"because the program has no variables for them: {', '.join(keys[:_LISTED])}{more}. "
            "print(status) shows what restore() found; status.expect_partial() silences this.",
            UserWarning,
            user.file,
            user.line,
        )

    @property
    def has_matched(self) -> bool:
        """True if anything but the root and the counter was found in the program."""
        return bool(self._matched - {0, self._counter()})

    # Matching

    def _match(
        self,
        starts: list[tuple[Any, int]],
        only: set[int] | None = None,
        *,
        whole: bool = False,
        patient: bool = True,
    ) -> None:
        """Pair what is at and below these objects.

        Args:
            starts: The objects, and the nodes that they are.
            only: Variables to restore, by id; None: all.
            whole: These objects are all there are.
            patient: Wait for the thread that is changing the variables.
        """
        with self._lock:
            self._watched = None
            plan = _Plan(self, only)
            for item, number in starts:
                plan.visit(item, number)
            plan.visit_slots([(i, n) for i, n in self._roots() if self._nodes[n].slots])
            if plan.pairs:
                self._assign(plan.pairs, patient)
            if whole:
                self._watched = plan.watched
            if not self._left - self._clashes.keys():
                self._end()

    def _assign(self, pairs: dict[int, Variable], patient: bool) -> None:
        """Check all pairs, then give all variables their values."""
        clashes = {n: v for n, v in pairs.items() if not self._fits(n, v)}
        if clashes and not self._skip_mismatch:
            raise InvalidArgumentError(self._clash_text(clashes))
        self._clashes.update({n: weakref.ref(v) for n, v in clashes.items()})
        fitting = {n: v for n, v in pairs.items() if n not in clashes}
        if fitting:
            arrays = self._reader.arrays(self._key(n) for n in fitting)
            new = [values.from_numpy(arrays.pop(self._key(n)), owned=True) for n in fitting]
            # All values at one moment: calls of functions see the old ones or the new ones.
            locks = in_order(v._lock_number for v in fitting.values())
            # In the middle of a call this thread has some of the locks itself.
            with writing(locks) if patient else writing_if_free(locks):
                installs.during(install, list(fitting.values()), new)
        for number, variable in fitting.items():
            self._variables[id(variable)] = (weakref.ref(variable), number)
            self._left.discard(number)
            self._matched.add(number)
            awaited_variables.release(variable)
        for restore in deferred_restores.pending():
            if restore is self:
                break  # only older ones: those that come after this one have the last word
            if isinstance(restore, Restore):
                for variable in fitting.values():
                    restore.superseded(variable)

    def _bind(self, item: Any, number: int) -> bool:
        """Pair an object with a node; False if one of them has another partner."""
        if is_container(item):
            return True  # has no identity of its own: it belongs to its holder
        known = self._bound.get(number)
        partner = None if known is None else known()
        other = self._number(item)
        if other is not None:
            return other == number
        if partner is not None and partner is not item:
            return False
        reference = self._remember(item, number)
        if reference is not None:
            self._bound[number] = reference
        return True

    def _remember(self, item: Any, number: int) -> weakref.ref[Any] | None:
        try:
            reference = weakref.ref(item, functools.partial(self._forget, id(item)))
        except TypeError:  # a class with __slots__: like a container
            return None
        self._objects[id(item)] = (reference, number)
        return reference

    def _forget(self, key: int, _: weakref.ref[Any]) -> None:
        self._objects.pop(key, None)
        if not self._objects:
            self._end()

    def _end(self) -> None:
        deferred_restores.unregister(self)
        self._reader.close()

    def _reference(self, item: Any) -> weakref.ref[Any] | None:
        found = self._objects.get(id(item))
        return found[0] if found is not None and found[0]() is item else None

    def _number(self, item: Any) -> int | None:
        found = self._objects.get(id(item))
        return found[1] if found is not None and found[0]() is item else None

    def _roots(self) -> list[tuple[Any, int]]:
        """The objects that are bound and alive, parents first."""
        alive = [(reference(), number) for reference, number in tuple(self._objects.values())]
        return sorted(((i, n) for i, n in alive if i is not None), key=lambda pair: pair[1])

    def _partner(self, variable: Any) -> int | None:
        found = self._variables.get(id(variable))
        return found[1] if found is not None and found[0]() is variable else None

    def _is_restored(self, variable: Any) -> bool:
        found = self._variables.get(id(variable))
        return found is not None and found[0]() is variable

    def _key(self, number: int) -> str:
        key = self._nodes[number].key
        assert key is not None
        return key

    def _saved(self, number: int) -> Form:
        entry = self._reader.entry(self._key(number))
        return Form(entry.dtype, entry.shape)

    def _fits(self, number: int, variable: Variable) -> bool:
        saved = self._saved(number)
        return saved.dtype == variable.dtype.name and variable.shape.is_compatible_with(saved.shape)

    def _clash_text(self, clashes: dict[int, Variable]) -> str:
        lines = [
            f"  {self._key(n)}: {self._saved(n)} in the checkpoint, {_form(v)} in the program "
            f"(variable {v.name!r})"
            for n, v in list(clashes.items())[:_LISTED]
        ]
        more = [f"  ... and {len(clashes) - _LISTED} more"] if len(clashes) > _LISTED else []
        return "\n".join([
            f"{self._reader.path}: {len(clashes)} values do not fit their variables; nothing was "
            "restored:", *lines, *more,
            "Make the program's variables like those, or pass skip_mismatch=True to restore() to "
            "keep their present values.",
        ])  # fmt: skip

    # Telling what became of it

    def _counter(self) -> int | None:
        return self._nodes[0].children.get(COUNTER)

    def _left_keys(self) -> list[str]:
        left = self._left - self._clashes.keys() - {self._counter()}
        return sorted(self._key(n) for n in left)

    def report(self, root: Any, also_root: Any) -> RestoreReport:
        """Return the outcome for each value, and for each variable that ``root`` has now."""
        walked = walk(root, also_root=also_root)
        paths = {id(node.item): path_text(node.path) for node in walked if node.is_variable}
        plan = _Plan(self, only=set())
        plan.visit(root, 0)
        rows = []
        clashing = {}
        partners = {n: ref() for ref, n in self._variables.values() if n is not None}
        for number in sorted(self._values - {self._counter()}):
            key, saved = self._key(number), self._saved(number)
            if number not in self._left:
                partner = partners.get(number)
                form = None if partner is None else _form(partner)
                rows.append(Row("restored", key, paths.get(id(partner)), saved, form))
            elif number in self._clashes:
                variable = self._clashes[number]()
                clashing[id(variable)] = variable
                form = None if variable is None else _form(variable)
                rows.append(Row("clash", key, paths.get(id(variable)), saved, form))
            else:
                note = SHARED if number in plan.shared else ""
                rows.append(Row("unexpected", key, None, saved, note=note))
        for node in walked:
            known = id(node.item) in clashing or self._is_restored(node.item)
            if node.is_variable and not known and node.path != (COUNTER,):
                path = path_text(node.path)
                rows.append(Row("missing", path=path, present=_form(node.item)))
        slots = {self._nodes[s.number].key for node in self._nodes for s in node.slots}
        new_slots = {path_text(walked[s.number].path) for node in walked for s in node.slots}
        fixed = frozenset(key for key in slots | new_slots if key is not None)
        return make_report(str(self._reader.path), rows, fixed)


class _Plan:
    """A walk over objects and nodes at once, and the pairs of variables and values it finds."""

    def __init__(self, restore: Restore, only: set[int] | None) -> None:
        self._restore = restore
        self._only = only
        self._seen: set[tuple[int, int]] = set()
        self._planned: dict[int, int] = {}
        self._tied_variables: set[int] = set()
        self._tied_values: set[int] = set()
        self.pairs: dict[int, Variable] = {}
        self.watched: list[Place] = []
        self.shared: set[int] = set()  # values whose place has a variable restored from elsewhere
        for item, number in restore._roots():
            self._note_slots(item, number)

    def visit(self, item: Any, number: int) -> None:
        """Pair an object and a node, and all below them, breadth first."""
        queue: list[tuple[Any, int, weakref.ref[Any] | None, tuple[str, ...]]]
        queue = [(item, number, None, ())]
        for item, number, owner, path in queue:  # grows meanwhile
            if (id(item), number) in self._seen:
                continue
            self._seen.add((id(item), number))
            if isinstance(item, Variable):
                if id(item) not in self._tied_variables and number not in self._tied_values:
                    self._pair(item, number)
                continue
            edges = self._restore._nodes[number].children
            if not edges or not self._restore._bind(item, number):
                continue
            reference = self._restore._reference(item)
            if reference is not None:
                owner, path = reference, ()
            self._restore._matched.add(number)
            self._note_slots(item, number)
            parts = edges_of(item)
            if owner is not None and not _reports_parts(item) and edges.keys() - parts:
                self.watched.append(Place(owner, path, mark_of(item)))
            queue += [
                (part, edges[name], owner, (*path, name))
                for name, part in parts.items()
                if name in edges
            ]

    def visit_slots(self, owners: Iterable[tuple[Any, int]]) -> None:
        """Pair slots by the variables that they belong to, wherever they are kept."""
        for item, number in owners:
            saved = {(s.name, s.of): s.number for s in self._restore._nodes[number].slots}
            for name, variable, slot in slots_of(item):
                of = self._planned.get(id(variable), self._restore._partner(variable))
                found = None if of is None else saved.get((name, of))
                if found is not None:
                    self._pair(slot, found)

    def _note_slots(self, item: Any, number: int) -> None:
        saved = self._restore._nodes[number].slots
        if saved:
            self._tied_values.update(slot.number for slot in saved)
            self._tied_variables.update(id(slot) for _, _, slot in slots_of(item))

    def _pair(self, variable: Variable, number: int) -> None:
        restore = self._restore
        if number not in restore._left or number in restore._clashes or number in self.pairs:
            return
        if restore._is_restored(variable) or id(variable) in self._planned:
            self.shared.add(number)
            return
        if self._only is not None and id(variable) not in self._only:
            return
        self.pairs[number] = variable
        self._planned[id(variable)] = number


def _reports_parts(item: Any) -> bool:
    """Whether an object tells the pending restores of every new part itself."""
    return isinstance(item, AutoTrackable) and item._tfx_parts_are_attributes


def _form(variable: Variable) -> Form:
    rank = variable.shape.rank
    return Form(variable.dtype.name, None if rank is None else tuple(variable.shape.as_list()))
