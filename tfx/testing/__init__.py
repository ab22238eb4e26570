"""Checks for tests of numerical code: gradients against differences, and nearly equal structures.

Public as ``tfx.testing``. Raises plain ``AssertionError`` so that any test runner shows it.
"""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.testing.close import assert_close as assert_close
from tfx.testing.gradients import check_grads as check_grads

_complete(__name__)
