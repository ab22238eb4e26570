"""Calls of a bundle's signatures that change nothing: golden examples, recorded and replayed.

Owns a call in a chosen form with variables of its own. Must not know what is compared with what.
The one decision: each run of an example begins with the variables as they are stored and keeps what
its calls write to itself, so an open bundle, and another example, never see it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy.typing as npt

from tfx.bundle.files import verify_file
from tfx.bundle.manifest import Example, Storage
from tfx.loaders.open_files import Sources
from tfx.loaders.plan import Plan
from tfx.loaders.signature import SignatureInfo, bind, find_signature, signature_info
from tfx.loaders.state import Snapshot
from tfx.runtime.memory import borrow
from tfx.runtime.run_options import time_limit

Arrays = dict[str, npt.NDArray[Any]]
Form = Literal["stock", "live"]


class Replayer:
    """Calls of the signatures of a bundle on its stored variables.

    Args:
        sources: The bundle.
        device: Canonical device name.
        seconds: How long one run may take; None: as long as it likes.

    Attributes:
        seconds: How long one run may take.
        signatures: What can be called, by name.
        stored: The variables as they are stored.
    """

    def __init__(
        self, sources: Sources, device: str = "CPU:0", *, seconds: float | None = None
    ) -> None:
        """Take the variables; no graph is opened yet."""
        self._sources = sources
        self._device = device
        self.seconds = seconds
        manifest = sources.manifest
        self.signatures: dict[str, SignatureInfo] = {
            item.name: signature_info(item, manifest) for item in manifest.signatures
        }
        self._entries = {item.name: item for item in manifest.signatures}
        self.stored = Snapshot(tuple(sources.take_values()))
        self._plans: dict[tuple[int, Form], Plan] = {}
        self._hashed: set[str] = set()

    def has_form(self, signature: str, form: Form) -> bool:
        """True if the form is there, and another one than the stock form."""
        if form == "stock":
            return True
        concrete = self._sources.manifest.concrete_functions[
            self._entries[signature].concrete_function
        ]
        return concrete.live_graph is not None or bool(concrete.graph.frozen_variables)

    def run(
        self, signature: str, calls: Sequence[Mapping[str, object]], form: Form = "stock"
    ) -> list[Arrays]:
        """Make calls one after another, the first with the variables as they are stored.

        Args:
            signature: The signature's name.
            calls: The inputs of each call.
            form: Which graph to run.

        Returns:
            The outputs of each call, by name.

        Raises:
            NotFoundError: there is no such signature.
            DeadlineExceededError: it took too long.
            OpError: inputs do not fit, or a kernel failed.
        """
        info = find_signature(self.signatures, signature, str(self._sources.root))
        entry = self._entries[signature]
        plan = self.plan(signature, form)
        snapshot = self.stored
        found: list[Arrays] = []
        for inputs in calls:
            arrays = bind(info, inputs)
            arguments = {item.leaf: borrow(arrays[item.name]) for item in entry.inputs}
            with time_limit(self.seconds, f"Signature {signature!r}"):
                results, updates = plan.run(arguments, snapshot, f"signature {signature!r}")
            snapshot = snapshot.replaced(updates)
            found.append({item.name: results[item.leaf] for item in entry.outputs})
        return found

    def plan(self, signature: str, form: Form) -> Plan:
        """Open a form of a signature.

        Raises:
            OpError: it cannot be opened here.
        """
        number = self._entries[signature].concrete_function
        plan = self._plans.get((number, form))
        if plan is None:
            concrete = self._sources.manifest.concrete_functions[number]
            if form == "live" and concrete.live_graph is not None:
                plan = Plan(self._sources, concrete.live_graph, self._device)
            else:
                plan = Plan(self._sources, concrete.graph, self._device, thaw=form == "live")
            self._plans[number, form] = plan
        return plan

    def forget_plans(self) -> None:
        """Give the memory of sessions back."""
        self._plans.clear()

    def stored_calls(self, example: Example) -> list[tuple[Arrays, Arrays]]:
        """Inputs and outputs of the calls of an example, as they are stored.

        Raises:
            BundleError: the file is damaged.
        """
        return [(self._read(call.inputs), self._read(call.outputs)) for call in example.calls]

    def _read(self, tensors: Mapping[str, Storage]) -> Arrays:
        for file in {item.file for item in tensors.values()} - self._hashed:
            verify_file(self._sources.root, self._sources.entries[file])
            self._hashed.add(file)
        return {name: self._sources.store.array(item) for name, item in tensors.items()}
