"""``Bundle``: a saved bundle, open for calls.

Owns what a program sees of a bundle: signatures, variables, calls, saving. Must not know how graphs
are checked and run. The one decision: opening reads the manifest and maps the weights; everything
that takes time or memory, a session above all, waits until the signature that needs it is called.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

import numpy.typing as npt

from tfx.bundle.manifest import FileEntry, Manifest
from tfx.loaders.consistent_open import open_consistently
from tfx.loaders.function import LoadedFunction
from tfx.loaders.open_files import Sources
from tfx.loaders.signature import SignatureInfo, bind, find_signature, signature_info
from tfx.loaders.state import State, Value, Variables
from tfx.loaders.versions import require_same_graphs
from tfx.runtime.devices import parse_device, require
from tfx.runtime.fork_safe_locks import fork_safe
from tfx.runtime.memory import borrow
from tfx.runtime.release_memory import release_memory
from tfx.runtime.run_options import Call, RunOptions


class Bundle:
    """A bundle on disk, opened with NumPy and ONNX Runtime alone. Make one with ``Bundle.open``.

    Calls are safe from several threads. Those that update variables (a train step) take turns;
    others run side by side, each with the variables as they were when it began.

    Attributes:
        path: The folder.
        device: Where it runs, such as "CPU:0".
        manifest: Everything that the bundle says of itself.
        signatures: What can be called, by name.
        variables: The variables by name, as read-only arrays that can be replaced.

    Example:
        A program that serves a model::

            with Bundle.open("digits_bundle") as bundle:
                out = bundle.call("serving_default", {"image": images})
                print(out["logits"].argmax(-1))
    """

    def __init__(
        self, sources: Sources, device: str, *, freeze: bool, verify: bool | None = None
    ) -> None:
        """Use ``Bundle.open``."""
        self.path: Path = sources.path
        self.device = device
        self.manifest: Manifest = sources.manifest
        self._sources = sources
        self._verify = verify
        self._state = State(self.manifest.variables, sources.take_values(), str(self.path))
        self.variables = Variables(self._state)
        self.signatures: Mapping[str, SignatureInfo] = MappingProxyType(
            {item.name: signature_info(item, self.manifest) for item in self.manifest.signatures}
        )
        self._entries = {item.name: item for item in self.manifest.signatures}
        self._freeze = freeze
        self._functions: dict[int, LoadedFunction] = {}
        self._lock = fork_safe(threading.Lock())
        self._closed = False

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        device: str = "CPU:0",
        verify: bool | None = None,
        *,
        freeze: bool = True,
    ) -> Self:
        """Open a bundle: read its manifest, check its files, map its variables.

        Args:
            path: The bundle's folder, or an archive of it (see ``tfx convert``).
            device: Where to run: "CPU:0", "GPU:0" and TensorFlow's longer spellings.
            verify: When to compare hashes with the manifest. Sizes are always compared, graphs and
                files of up to 4 MiB are always hashed when they are opened. True hashes every file
                now; None, the default, what is used of a larger file of weights when it is first
                used (a fraction of a second for each GiB); False leaves these out.
            freeze: True lets ONNX Runtime keep each signature's weights in the form that its
                kernels like best: the fastest, but each signature takes memory for its own.
                False feeds them from the one mapping that all signatures share; calls with small
                batches may take up to 1.6 times as long.

        Returns:
            The open bundle; use it in a ``with`` statement or close it.

        Raises:
            NotFoundError: There is no such folder or device.
            BundleError: It is no bundle, or is damaged.
            UnsupportedVersionError: It is newer than this program.
        """
        canonical = parse_device(device)
        require(canonical)
        sources = open_consistently(path, lambda: Sources(path, verify=verify))
        return cls(sources, canonical, freeze=freeze, verify=verify)

    @property
    def files(self) -> tuple[FileEntry, ...]:
        """The files of the bundle with sizes and hashes; ``bundle.pb`` itself is not among them."""
        return self.manifest.files

    def call(
        self,
        signature: str,
        inputs: Mapping[str, object] | None = None,
        options: RunOptions | None = None,
    ) -> dict[str, npt.NDArray[Any]]:
        """Call a signature.

        Args:
            signature: Its name.
            inputs: A value for each of its inputs, by name. An array must have the input's dtype;
                Python numbers, strings and lists of them take it.
            options: A time limit, a way to cancel the call, and more; None: without.

        Returns:
            Its outputs by name, as arrays that belong to the caller.

        Raises:
            NotFoundError: There is no such signature.
            InvalidArgumentError: An input is missing, unknown or of the wrong dtype or shape, or a
                kernel refused its values. Variables are as before.
            DeadlineExceededError: It took longer than the options allow. Variables are as before.
            CancelledError: It was cancelled. Variables are as before.
            BundleError: The signature's graph is damaged, or is not what the manifest says.
            FailedPreconditionError: The bundle was closed.
        """
        if options is not None:
            with Call(options, f"Signature {signature!r}").active() as call:
                call.check()
                return self.call(signature, inputs)
        info = find_signature(self.signatures, signature, str(self.path))
        arrays = bind(info, inputs or {})
        entry = self._entries[signature]
        function = self._function(entry.concrete_function)
        arguments = {item.leaf: borrow(arrays[item.name]) for item in entry.inputs}
        what = f"signature {signature!r}"
        if function.updates:
            with self._state.turn:
                results, updates = function.call(arguments, self._state.snapshot, what)
                self._state.commit(updates)
        else:
            results, _ = function.call(arguments, self._state.snapshot, what)
        return {item.name: results[item.leaf] for item in entry.outputs}

    def warmup(self, signature: str | None = None) -> None:
        """Open the session of a signature, or of all, so that the first call need not.

        Args:
            signature: Its name; None for all.

        Raises:
            NotFoundError: There is no such signature.
            BundleError: A graph is damaged, or is not what the manifest says.
        """
        names = list(self.signatures) if signature is None else [signature]
        for name in names:
            find_signature(self.signatures, name, str(self.path))
            function = self._function(self._entries[name].concrete_function)
            function.plan(self._state.snapshot)

    def reload(self, path: str | os.PathLike[str] | None = None) -> None:
        """Take all variables from another version of the bundle; the sessions stay open.

        The other version has the same graphs: a later save of the same model. Calls that have begun
        end with the variables that they began with, later ones see all of the new values. Where the
        open session of a signature holds its weights (see ``freeze``), one that is fed takes its
        place before the swap; ``Bundle.open`` makes one that holds the new weights.

        Args:
            path: The folder of the other version; None for a new one in the bundle's own folder.

        Raises:
            NotFoundError: There is no such folder.
            BundleError: It is no bundle, or is damaged.
            FailedPreconditionError: The bundles differ in more than the values of variables, and
                the message says in what; or this one was closed. Nothing has changed.
        """
        folder = self.path if path is None else path
        new = open_consistently(folder, lambda: Sources(folder, verify=self._verify))
        with self._lock:
            self._state.snapshot  # noqa: B018  raises if the bundle was closed
            old = self._sources
            require_same_graphs(old.manifest, old.store, old.read_graph, new, str(self.path))
            new.check(new.entries)
            before = {i: function.live for i, function in self._functions.items()}
            live = {i: function.prepare_reload() for i, function in self._functions.items()}
            with self._state.turn:
                version = self._state.snapshot.version + 1
                for i, function in self._functions.items():
                    function.reload(new, version, live[i])
                self._sources, self.manifest, self.path = new, new.manifest, new.path
                self._state.reload(new.take_values())
        if any(live[i] is not before[i] for i in live):
            release_memory()  # the copies of the weights that frozen sessions held

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bundle again with the variables as they are now; graphs are copied.

        Args:
            path: The folder to make; an existing bundle is replaced in one step, also this one.

        Raises:
            AlreadyExistsError: There is something there which is no bundle.
            FailedPreconditionError: A graph would no longer fit the new variables.
        """
        from tfx.loaders.save_again import (
            save_again,  # most programs never save: keep their start quick
        )

        save_again(self._sources, self._state.snapshot, path)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by path, with the variables that are no longer as saved; see ``pickle``."""
        snapshot = self._state.snapshot
        changed = {i: snapshot.values[i].array for i in sorted(snapshot.changed)}
        options = (self.device, self._freeze)
        return _reopened, (str(self.path), *options, self._sources.fingerprint, changed)

    def close(self) -> None:
        """Give the sessions, the mapping and their memory back; results handed out stay valid."""
        with self._lock:
            self._closed = True
            was_used = bool(self._functions)
            self._functions.clear()
        self._state.close()
        self._sources.close()
        if was_used:
            release_memory()

    def __enter__(self) -> Self:
        """Return the bundle itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the bundle."""
        self.close()

    def __repr__(self) -> str:
        """Return path, signatures and number of variables."""
        names = ", ".join(self.signatures) or "none"
        closed = ", closed" if self._closed else ""
        return (
            f"Bundle({str(self.path)!r}, signatures: {names}, {len(self.variables)} variables"
            f"{closed})"
        )

    def _function(self, index: int) -> LoadedFunction:
        function = self._functions.get(index)
        if function is None:
            with self._lock:
                self._state.snapshot  # noqa: B018  raises if the bundle was closed
                function = self._functions.get(index)
                if function is None:
                    function = self._functions[index] = LoadedFunction(
                        self._sources,
                        self.manifest.concrete_functions[index],
                        self.device,
                        freeze=self._freeze,
                        version=self._state.snapshot.version,
                    )
        return function


def _reopened(
    path: str,
    device: str,
    freeze: bool,
    fingerprint: str,
    changed: Mapping[int, npt.NDArray[Any]],
) -> Bundle:
    """Open a bundle that was pickled in another process, or copied."""
    bundle = Bundle.open(path, device, freeze=freeze)
    bundle._sources.check_fingerprint(fingerprint)
    if changed:
        bundle._state.commit({i: Value(array) for i, array in changed.items()})
    return bundle
