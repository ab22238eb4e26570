"""``python -m tfx.cli``: the same as the command ``tfx``."""

from __future__ import annotations

import sys

from tfx.cli.app import main

sys.exit(main())
