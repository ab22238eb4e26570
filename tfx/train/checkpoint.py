"""``Checkpoint``: the variables of objects, saved to files and put back.

Owns the numbering of checkpoints and the snapshot that is written. Must not know the matching
(``restore``) or the layout of files (``files``). The one decision: values are immutable, so a
snapshot is a list of references and takes no copy; ``background=True`` therefore stops the program
only for the walk over its objects.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tfx.core import dtypes
from tfx.framework import deferred_restores
from tfx.framework.context import current, init_scope
from tfx.framework.deferred_restores import UNTRACKED_PREFIX, AutoTrackable
from tfx.framework.tensor import EagerTensor
from tfx.framework.trackable import is_trackable, members, walk
from tfx.framework.variable import Variable
from tfx.framework.variable_locks import installs
from tfx.train.async_save import Writer
from tfx.train.files import write_files
from tfx.train.latest_checkpoint_file import write_state
from tfx.train.object_graph import from_nodes, renamed, to_json, without_slots
from tfx.train.options import CheckpointOptions, takes_argument
from tfx.train.reader import FORMAT, FORMAT_KEY, GRAPH_KEY, CheckpointReader
from tfx.train.restore import COUNTER, Restore
from tfx.train.status import CheckpointLoadStatus, InitializationOnlyStatus


class Checkpoint(AutoTrackable):
    """Groups objects whose variables are saved and restored together.

    Variables are found through the attributes of the objects, through lists, tuples, mappings and
    nested objects, each under its shortest path, and are put back by these paths. Values for
    objects that do not exist yet are kept until they do: a variable that is assigned to an
    attribute of a ``Module`` after ``restore`` has its value at once. One that is added to a list
    or dict that was there before has it from the next question to the status on, or from the first
    trace of the function that created it.

    Unlike in TensorFlow, a variable cannot be the root itself, and objects of plain classes count.

    Args:
        root: Object whose parts are saved under their own names, without a name in front. A
            ``weakref.ref`` does not keep it alive, for objects that own their checkpoint.
        **kwargs: Objects by the name they get in the checkpoint.

    Raises:
        ValueError: an object cannot have state, or a name is taken.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> model = tf.Module()
        >>> model.w = tf.Variable([1.0, 2.0])
        >>> checkpoint = tf.train.Checkpoint(model=model)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = checkpoint.save(folder + "/ckpt")
        ...     model.w.assign([0.0, 0.0]).numpy()
        ...     status = checkpoint.restore(path).assert_consumed()
        array([0., 0.], dtype=float32)
        >>> model.w.numpy()
        array([1., 2.], dtype=float32)
    """

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        self._self_given_root = root
        if isinstance(root, weakref.ref):
            root = root()
            _check_trackable("root", root)
        self._self_counter: Variable | None = None
        self._self_writer = Writer()
        if root is not None:
            _check_trackable("root", root)
            if isinstance(root, Variable):
                raise ValueError(
                    "`Checkpoint` was given a variable as root, which has no name in the "
                    "checkpoint; give it one, such as Checkpoint(value=variable)."
                )
        below = dict(members(root)) if root is not None else {}
        for name, value in sorted(kwargs.items()):
            _check_trackable(name, value)
            if hasattr(type(self), name) or name.startswith(UNTRACKED_PREFIX):
                raise ValueError(
                    f"`Checkpoint` cannot give an object the name {name!r}: it has "
                    "that name itself. Choose another one."
                )
            if below.get(name, value) is not value:
                raise ValueError(
                    f"Cannot create a Checkpoint with keyword argument {name} if "
                    f"root.{name} already exists."
                )
            setattr(self, name, value)

    @property
    def _self_root(self) -> Any:
        given = self._self_given_root
        if not isinstance(given, weakref.ref):
            return given
        root = given()
        # An AssertionError in TensorFlow, too; saving nothing would lose a model silently.
        if root is None:
            raise AssertionError(
                "The root of this `Checkpoint` was given by a weak reference, and the object is "
                "gone. Keep it as long as the checkpoint is used."
            )
        return root

    @property
    def save_counter(self) -> Variable:
        """The number of calls of ``save``; saved and restored with the rest."""
        if self._self_counter is None:
            with init_scope():
                self._self_counter = Variable(0, dtype=dtypes.int64, trainable=False, name=COUNTER)
        return self._self_counter

    def _trackable_children(self) -> dict[str, Any]:
        """The objects by name, those of the root among them."""
        found = dict(members(self._self_root)) if self._self_root is not None else {}
        found.update((n, v) for n, v in vars(self).items() if not n.startswith(UNTRACKED_PREFIX))
        if self._self_counter is not None:
            found[COUNTER] = self._self_counter
        return found

    # Saving

    def save(
        self,
        file_prefix: str | os.PathLike[str],
        options: CheckpointOptions | None = None,
        *,
        background: bool = False,
    ) -> str:
        """Save under the next number, and note in the folder that this is its latest checkpoint.

        Args:
            file_prefix: Path of the checkpoint without the number; folders are made as needed.
            options: See ``CheckpointOptions``.
            background: Return as soon as the values are noted; a thread writes them. ``result`` of
                what is returned waits for it, so do ``sync``, the next save and the end of the
                process; the first of them raises (or prints) what went wrong.

        Returns:
            The path, ``file_prefix-1`` the first time; the file is ``file_prefix-1.safetensors``.
            In the background it is a ``BackgroundSave``, which is a ``str`` too.

        Raises:
            ValueError: while a function is traced; or the path cannot be a file's.
            PermissionDeniedError: the folder may not be written to.
            ResourceExhaustedError: the disk is full.
        """
        self.sync()
        counter = self.save_counter
        counter.assign_add(1)
        path = f"{os.fspath(file_prefix)}-{int(counter)}"
        try:
            return self._write(path, _note_latest, options, background)
        except BaseException:
            counter.assign_sub(1)
            raise

    def write(
        self,
        file_prefix: str | os.PathLike[str],
        options: CheckpointOptions | None = None,
        *,
        background: bool = False,
    ) -> str:
        """Save under exactly this path; nothing else is counted or noted.

        Args:
            file_prefix: Path of the checkpoint; the file is ``file_prefix.safetensors``. An older
                one is replaced at once when the new one is complete.
            options: See ``CheckpointOptions``.
            background: See ``save``.

        Returns:
            The path; see ``save``.

        Raises:
            ValueError: while a function is traced; or the path cannot be a file's.
            PermissionDeniedError: the folder may not be written to.
            ResourceExhaustedError: the disk is full.
        """
        return self._write(os.fspath(file_prefix), None, options, background)

    def _write(
        self,
        path: str,
        then: Callable[[str], None] | None,
        options: CheckpointOptions | None,
        background: bool,
    ) -> str:
        _refuse_in_function("save")
        self.sync()
        deferred_restores.resolve_pending()
        for restore in deferred_restores.pending():
            if isinstance(restore, Restore) and restore.concerns(self):
                restore.warn("A checkpoint is saved")
        options = options or CheckpointOptions()
        callbacks = [*([then] if then else []), *(options.experimental_write_callbacks or ())]
        tensors, metadata = self._snapshot()

        def job() -> None:
            write_files(path, tensors, metadata, options.shard_limit)
            for callback in callbacks:
                callback(path) if takes_argument(callback) else callback()

        if background or options.background:
            return self._self_writer.start(path, job)
        job()
        return path

    def sync(self) -> None:
        """Wait until what is written in the background is complete.

        Raises:
            OpError: it could not be written.
        """
        self._self_writer.wait()

    def _snapshot(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, str]]:
        nodes = walk(self, also_root=self._self_root)
        saved = from_nodes(nodes)
        with installs.paused():  # all values of one moment, whatever other threads do
            tensors = {
                record.key: _value(node.item)
                for node, record in zip(nodes, saved, strict=True)
                if record.key is not None
            }
        return tensors, {FORMAT_KEY: str(FORMAT), GRAPH_KEY: to_json(saved)}

    # Restoring

    def restore(
        self,
        save_path: str | os.PathLike[str] | None,
        options: CheckpointOptions | None = None,
        *,
        rename: Mapping[str, str] | None = None,
        skip_mismatch: bool = False,
    ) -> CheckpointLoadStatus | InitializationOnlyStatus:
        """Restore what ``save`` wrote, the number included.

        Either all values that have a variable are restored, or an error is raised and no variable
        has changed.

        Args:
            save_path: What ``save`` or ``latest_checkpoint`` returned, a bundle, or any
                safetensors file; None restores nothing, and the assertions of the status fail.
            options: See ``CheckpointOptions``.
            rename: Path in the checkpoint -> path in the program, for objects and variables that
                have moved; all below a path moves with it.
            skip_mismatch: Leave variables of another dtype or shape than the value as they are,
                in place of raising an error.

        Returns:
            A status with assertions and a report; ``print`` shows what was not restored.

        Raises:
            NotFoundError: there is no such checkpoint, or nothing at a path in ``rename``.
            InvalidArgumentError: dtype or shape of a variable differ.
            BundleError: the checkpoint is damaged.
            UnsupportedVersionError: it was made by a newer version.
            ValueError: while a function is traced; or ``rename`` moves two things to one place.
        """
        if save_path is None:
            return InitializationOnlyStatus()
        return self._restore(save_path, options, rename, skip_mismatch, counting=True)

    def read(
        self,
        save_path: str | os.PathLike[str],
        options: CheckpointOptions | None = None,
        *,
        rename: Mapping[str, str] | None = None,
        skip_mismatch: bool = False,
    ) -> CheckpointLoadStatus:
        """Restore what ``write`` wrote; see ``restore``.

        Args:
            save_path: The path that was given to ``write``, a bundle, or any safetensors file.
            options: See ``CheckpointOptions``.
            rename: See ``restore``.
            skip_mismatch: See ``restore``.

        Returns:
            A status with assertions and a report.

        Raises:
            NotFoundError: there is no such checkpoint, or nothing at a path in ``rename``.
            InvalidArgumentError: dtype or shape of a variable differ.
            BundleError: the checkpoint is damaged.
            UnsupportedVersionError: it was made by a newer version.
            ValueError: while a function is traced; or ``rename`` moves two things to one place.
        """
        return self._restore(save_path, options, rename, skip_mismatch, counting=False)

    def _restore(
        self,
        path: str | os.PathLike[str],
        options: CheckpointOptions | None,
        rename: Mapping[str, str] | None,
        skip_mismatch: bool,
        counting: bool,
    ) -> CheckpointLoadStatus:
        _refuse_in_function("restore")
        self.sync()
        reader = CheckpointReader(path)
        nodes = reader.nodes
        counter = nodes[0].children.get(COUNTER)
        if rename:
            nodes = renamed(nodes, rename, str(reader.path))
            if counter is not None:  # it is the checkpoint's own and stays where it is
                nodes[0].children.setdefault(COUNTER, counter)
        for older in deferred_restores.pending():
            if isinstance(older, Restore) and older.concerns(self):
                older.cancel()
        if counting or counter is not None:
            _ = self.save_counter  # exists from now on, to be restored
        if options is not None and options.experimental_skip_slot_variables:
            nodes = without_slots(nodes)
        restore = Restore(reader, nodes, skip_mismatch)
        restore.begin(self, self._self_root)
        return CheckpointLoadStatus(restore, self, self._self_root)


def _note_latest(path: str) -> None:
    write_state(os.path.dirname(path) or ".", path, [path], [time.time()], time.time())


def _value(variable: Variable) -> npt.NDArray[Any]:
    with init_scope():
        tensor = variable.stored_value()
    assert isinstance(tensor, EagerTensor)
    return np.asarray(tensor.view())


def _check_trackable(name: str, value: Any) -> None:
    if not is_trackable(value):
        raise ValueError(
            f"`Checkpoint` was expecting {name} to be an object that can have state (a Module, a "
            f"Variable, an optimizer, or lists and dicts of these), got {value!r} of type "
            f"{type(value).__name__}. To save a number, put it into a Variable."
        )


def _refuse_in_function(what: str) -> None:
    if current().graph is not None:
        raise ValueError(
            f"A checkpoint cannot {what} while a function is traced, because that happens once and "
            "not at each call; do it in eager code."
        )
