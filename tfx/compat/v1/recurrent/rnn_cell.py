"""``tfx.compat.v1.nn.rnn_cell``: cells of recurrent networks."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.recurrent.cells": """
            BasicLSTMCell BasicRNNCell GRUCell LSTMCell LSTMStateTuple RNNCell
        """,
        "tfx.compat.v1.recurrent.wrappers": """
            DeviceWrapper DropoutWrapper MultiRNNCell ResidualWrapper
        """,
    },
)
