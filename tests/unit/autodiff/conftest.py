"""The table of rules is full before a test puts a copy in its place.

What is registered while a copy stands there, by a module that is imported then, is lost with it.
"""

from __future__ import annotations

import importlib

importlib.import_module("tfx.function.execution.concrete_function")
