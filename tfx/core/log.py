"""The logger that every warning of tfx goes to."""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("tfx")


def get_logger() -> logging.Logger:
    """The logger of tfx, to set its level or add handlers.

    Example:
        >>> import tfx as tf
        >>> tf.get_logger().name
        'tfx'
    """
    return LOGGER
