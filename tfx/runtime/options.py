"""ONNX Runtime's run options: those that all calls share, and those of one call."""

from __future__ import annotations

from typing import Any

import onnxruntime

# Severity 4 (fatal): failures come back as exceptions; the runtime must not also print them.
SILENT = 4


def new_run_options(severity: int = SILENT, verbosity: int = 0, tag: str = "") -> Any:
    """Run options for one call, which ends when their ``terminate`` is set to True.

    Args:
        severity: What ONNX Runtime prints, 0 (everything) to 4 (fatal errors).
        verbosity: How much at severity 0.
        tag: Name of the call in the log.
    """
    options = onnxruntime.RunOptions()
    options.log_severity_level = severity
    options.log_verbosity_level = verbosity
    options.logid = tag
    return options


# ONNX Runtime is faster with run options than without any (2.1 against 2.6 us on a tiny graph).
# Only ``interrupts`` may set their ``terminate``: it ends the runs of all threads, see there.
RUN_OPTIONS = new_run_options()
