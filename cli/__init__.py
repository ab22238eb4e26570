"""The ``tfx`` command; installed as ``tfx.cli``.

It parses, calls and prints, and holds no logic of its own. Import it as ``tfx.cli``, never as
``cli``: that would make a second copy of every module.
"""

from __future__ import annotations

from tfx.cli.app import main as main
