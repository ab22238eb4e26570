"""``verify``: is a bundle what it was, and does it run here as it ran where it was saved?

Owns the list of checks and the words of their results. Must not print. The one decision: every
check is made, whatever the ones before it found, unless one cannot be made without another; so one
run tells everything.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy.typing as npt

from tfx.bundle.archive import opened_folder
from tfx.bundle.examples import TOLERANCE, difference, is_current, is_finite, max_difference
from tfx.bundle.files import verify_files
from tfx.bundle.manifest import Example, FileEntry, Requirements, read_manifest
from tfx.core.errors import (
    DeadlineExceededError,
    OpError,
    UnimplementedError,
    UnsupportedVersionError,
)
from tfx.loaders.open_files import Sources
from tfx.loaders.record_examples import MADE_UP_SECONDS, Recorded, make_up
from tfx.loaders.replay_examples import Arrays, Form, Replayer
from tfx.loaders.requirements import check_runtime
from tfx.loaders.signature import SignatureInfo
from tfx.loaders.synthetic_inputs import is_open, open_sizes
from tfx.runtime.devices import parse_device, require
from tfx.runtime.runtime_limits import supported_opset

Status = Literal["ok", "failed", "skipped"]
_MADE_UP_BYTES = 64 << 20
RUN_SECONDS = 60.0
"""How long one run may take: a loop in a stranger's bundle may never end."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        what: The kind of check: files, opset, variables, open, stock form, live form, sizes.
        subject: What was checked: a file, a signature.
        status: "ok", "failed" or "skipped".
        detail: What was found.
    """

    what: str
    subject: str
    status: Status
    detail: str


@dataclass(slots=True)
class VerifyReport:
    """The result of ``verify``."""

    path: str
    checks: list[Check] = field(default_factory=list)

    @property
    def is_ok(self) -> bool:
        """True if nothing failed."""
        return all(check.status != "failed" for check in self.checks)

    def as_json(self) -> dict[str, Any]:
        """Return the report as objects that JSON can hold."""
        return {
            "path": self.path,
            "ok": self.is_ok,
            "checks": [
                {
                    "what": check.what,
                    "subject": check.subject,
                    "status": check.status,
                    "detail": check.detail,
                }
                for check in self.checks
            ],
        }

    def add(self, what: str, subject: str, problem: str, good: str) -> None:
        """Take down a check: it failed if there is a problem."""
        self.checks.append(Check(what, subject, "failed" if problem else "ok", problem or good))

    def skip(self, what: str, subject: str, why: str) -> None:
        """Take down a check that was not made."""
        self.checks.append(Check(what, subject, "skipped", why))


def verify(
    path: str | os.PathLike[str], device: str = "CPU:0", seconds: float | None = RUN_SECONDS
) -> VerifyReport:
    """Check a bundle in every way that there is, and run its golden examples.

    Compared are the size and SHA-256 of each file; the operator sets with those of the installed
    ONNX Runtime; that variables and results are finite; what each signature gives for its examples,
    in the stock form and in the form that is fed with the variables; that the two give the same;
    and that each open dimension takes two sizes. Where a signature has no examples, inputs are made
    up. Nothing is changed.

    Args:
        path: The bundle's folder.
        device: Where to run.
        seconds: How long one run of a signature may take; None: as long as it likes. One that
            takes longer is a check that failed, and the signature is run no more.

    Returns:
        What was checked, and what came out.

    Raises:
        NotFoundError: there is no such folder or device.
        BundleError: it is no bundle, or its manifest is damaged.
        UnsupportedVersionError: it is newer than this program.
    """
    canonical = parse_device(device)
    require(canonical)
    report = VerifyReport(os.fspath(path))
    with opened_folder(path) as folder:
        _fill(report, folder, canonical, seconds)
    return report


def _fill(report: VerifyReport, path: Path, device: str, seconds: float | None) -> None:
    manifest = read_manifest(path)
    damaged = list(_check_files(report, path, manifest.files))
    _check_versions(report, manifest.requirements, path)
    if damaged:
        report.skip("signatures", "all", "files are damaged")
        return
    sources = Sources(path, verify=False)
    try:
        replayer = Replayer(sources, device, seconds=seconds)
        _check_variables(report, sources, replayer)
        for info in replayer.signatures.values():
            examples = [e for e in manifest.examples if e.signature == info.name]
            _Signature(report, sources, replayer, info).check(examples)
            replayer.forget_plans()
        if not replayer.signatures:
            report.skip("signatures", "all", "the bundle has none")
    finally:
        sources.close()


def _check_files(
    report: VerifyReport, path: str | os.PathLike[str], files: Sequence[FileEntry]
) -> Iterator[str]:
    good = 0
    for item in files:
        try:
            verify_files(path, [item], check_hash=True)
            good += 1
        except OpError as error:
            report.add("files", item.path, error.message, "")
            yield item.path
    if good:
        report.add("files", f"{good} of {len(files)}", "", "size and SHA-256 as in the manifest")
    else:
        report.add("files", "bundle.pb", "", "its SHA-256 is right")


def _check_versions(
    report: VerifyReport, requirements: Requirements, path: str | os.PathLike[str]
) -> None:
    if not requirements.opset:
        report.skip("opset", "", "there are no graphs")
        return
    newest = supported_opset()
    problem = ""
    if requirements.opset > newest:
        problem = (
            f"it needs opset {requirements.opset}, the installed ONNX Runtime has {newest}; "
            "upgrade onnxruntime, or lower it: tfx convert BUNDLE OUT --opset N"
        )
    else:
        try:
            check_runtime(requirements, path)
        except UnsupportedVersionError as error:
            problem = error.message
    domains = "".join(f", {n} {v}" for n, v in sorted(requirements.domains.items()))
    good = f"needs opset {requirements.opset}{domains}, the installed ONNX Runtime has {newest}"
    report.add("opset", "", problem, good)


def _check_variables(report: VerifyReport, sources: Sources, replayer: Replayer) -> None:
    entries = sources.manifest.variables
    bad = [
        entry.name
        for entry, value in zip(entries, replayer.stored.values, strict=True)
        if not is_finite(value.array)
    ]
    if not entries:
        report.skip("variables", "", "there are none")
        return
    for name in bad:
        report.add("variables", name, "it has NaN or infinite values", "")
    if len(bad) < len(entries):
        report.add("variables", f"{len(entries) - len(bad)} of {len(entries)}", "", "finite")


class _Signature:
    """The checks of one signature."""

    def __init__(
        self, report: VerifyReport, sources: Sources, replayer: Replayer, info: SignatureInfo
    ) -> None:
        self.report = report
        self.sources = sources
        self.replayer = replayer
        self.info = info
        self.is_endless = False  # so far as one can tell

    def check(self, examples: Sequence[Example]) -> None:
        name = self.info.name
        forms: list[Form] = ["stock"]
        if self.replayer.has_form(name, "live"):
            forms.append("live")
        opened = [form for form in forms if self._opens(form)]
        if "stock" not in opened:
            return
        sizes: list[set[Any]] = []
        stored = [(e, self.replayer.stored_calls(e)) for e in examples]
        for number, (example, calls) in enumerate(stored, 1):
            label = f"example {number} of {len(examples)}"
            if self._replay(label, example, calls, opened):
                sizes += [open_sizes(self.info, inputs) for inputs, _ in calls]
        if not examples or (is_open(self.info) and not _two_sizes(sizes)):
            sizes += self._made_up(opened, bool(examples))
        if is_open(self.info):
            self._check_sizes(sizes)

    def _opens(self, form: Form) -> bool:
        try:
            self.replayer.plan(self.info.name, form)
        except UnimplementedError as error:
            # Some operators want constants: then the stock form is the only one that there can be.
            if form == "stock":
                self.report.add("stock form", self.info.name, error.message, "")
            else:
                self.report.skip("live form", self.info.name, error.message)
            return False
        except OpError as error:
            self.report.add(f"{form} form", self.info.name, error.message, "")
            return False
        return True

    def _replay(
        self,
        label: str,
        example: Example,
        calls: Sequence[tuple[Arrays, Arrays]],
        forms: Sequence[Form],
    ) -> bool:
        current = is_current(example, self.sources.manifest)
        runs = {form: self._run(label, [inputs for inputs, _ in calls], form) for form in forms}
        stock = runs.get("stock")
        if stock is None:
            return False
        wanted = [outputs for _, outputs in calls]
        for form, found in runs.items():
            if found is None:
                continue
            if current:
                self._compare(f"{form} form", label, found, wanted, example.tolerance)
            elif form == "stock":
                self.report.skip(
                    "stock form", self._at(label), "recorded with other variables: not compared"
                )
        self._check_live(label, stock, runs.get("live"), example.tolerance, wanted)
        self._check_finite(label, stock)
        return True

    def _made_up(self, forms: Sequence[Form], has_examples: bool) -> list[set[Any]]:
        """Run on generated inputs if there are no examples of two sizes."""
        if self.is_endless:
            return []
        seconds = self.replayer.seconds
        self.replayer.seconds = MADE_UP_SECONDS
        made: list[Recorded] = make_up(self.replayer, self.info, _MADE_UP_BYTES)
        self.replayer.seconds = seconds
        name = self.info.name
        if not made and not has_examples:
            self.report.skip("stock form", name, "no example, and it takes no made up inputs")
        for number, item in enumerate(made, 1):
            label = f"made up inputs {number}"
            stock = [outputs for _, outputs in item.calls]
            live = None
            if "live" in forms:
                live = self._run(label, [inputs for inputs, _ in item.calls], "live")
            if live is None:
                self.report.add("stock form", self._at(label), "", "runs")
            self._check_live(label, stock, live, TOLERANCE, stock)
        return [open_sizes(self.info, inputs) for item in made for inputs, _ in item.calls]

    def _run(self, label: str, calls: Sequence[Arrays], form: Form) -> list[Arrays] | None:
        if self.is_endless:
            return None
        try:
            return self.replayer.run(self.info.name, calls, form)
        except DeadlineExceededError:
            self.is_endless = True
            text = (
                f"did not end within {self.replayer.seconds:g} s, so the signature was run no "
                "more; give --timeout if it may take longer"
            )
            self.report.add(f"{form} form", self._at(label), text, "")
            return None
        except OpError as error:
            self.report.add(f"{form} form", self._at(label), error.message, "")
            return None

    def _compare(
        self,
        what: str,
        label: str,
        found: Sequence[Arrays],
        expected: Sequence[Arrays],
        tolerance: float,
    ) -> None:
        problem = next(_differences(found, expected, tolerance), "")
        worst = _worst(found, expected)
        compared = any(expected)
        good = f"as recorded, greatest difference {worst:.3g}" if compared else "runs"
        self.report.add(what, self._at(label), problem, good)

    def _check_live(
        self,
        label: str,
        stock: Sequence[Arrays],
        live: Sequence[Arrays] | None,
        tolerance: float,
        wanted: Sequence[Arrays],
    ) -> None:
        if live is None:
            return
        kept = [
            {n: a for n, a in one.items() if n in w} for one, w in zip(stock, wanted, strict=True)
        ]
        problem = next(_differences(live, kept, tolerance), "")
        worst = _worst(live, kept)
        self.report.add(
            "live = stock", self._at(label), problem, f"greatest difference {worst:.3g}"
        )

    def _check_finite(self, label: str, found: Sequence[Arrays]) -> None:
        bad = [n for outputs in found for n, array in outputs.items() if not is_finite(array)]
        if bad:
            names = ", ".join(sorted(set(bad)))
            self.report.add("finite", self._at(label), f"{names} has NaN or infinite values", "")

    def _check_sizes(self, sizes: Sequence[set[Any]]) -> None:
        if _two_sizes(sizes):
            count = len({place[:2] for found in sizes for place in found})
            text = f"two sizes for each of {count} open dimension{'s' if count != 1 else ''}"
            self.report.add("sizes", self.info.name, "", text)
            return
        once = sorted({f"{p[0]}[{p[1]}]" for p in set().union(*sizes)}) if sizes else []
        ran = f"ran with one size for {', '.join(once)}" if once else "no inputs to run with"
        self.report.skip("sizes", self.info.name, f"{ran}; give examples of two sizes to save")

    def _at(self, label: str) -> str:
        return f"{self.info.name}, {label}"


def _two_sizes(sizes: Sequence[set[Any]]) -> bool:
    """True if each open dimension came with two sizes."""
    found: dict[Any, set[Any]] = {}
    for one in sizes:
        for name, axis, size in one:
            found.setdefault((name, axis), set()).add(size)
    return bool(found) and all(len(seen) > 1 for seen in found.values())


def _differences(
    found: Sequence[Arrays], expected: Sequence[Arrays], tolerance: float
) -> Iterator[str]:
    for number, (one, wanted) in enumerate(zip(found, expected, strict=True), 1):
        for name, array in wanted.items():
            text = difference(one[name], array, tolerance)
            if text:
                call = f"call {number}: " if len(found) > 1 else ""
                yield f"{call}output {name!r} {text}"


def _worst(found: Sequence[Arrays], expected: Sequence[Arrays]) -> float:
    pairs: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = [
        (one[name], array)
        for one, wanted in zip(found, expected, strict=True)
        for name, array in wanted.items()
        if one[name].shape == array.shape and one[name].dtype == array.dtype
    ]
    return max((max_difference(a, b) for a, b in pairs), default=0.0)
