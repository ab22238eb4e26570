"""``tf.saved_model``: save objects as bundles and load them back."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.exporters.native import SaveOptions as SaveOptions
from tfx.exporters.native import save as save
from tfx.exporters.signatures import (
    DEFAULT_SERVING_SIGNATURE_DEF_KEY as DEFAULT_SERVING_SIGNATURE_DEF_KEY,
)
from tfx.framework.asset import Asset as Asset
from tfx.saved_model import pickling as _pickling  # noqa: F401  tells pickle of the classes
from tfx.saved_model.close import close as close
from tfx.saved_model.close import warmup as warmup
from tfx.saved_model.load import LoadOptions as LoadOptions
from tfx.saved_model.load import contains_saved_model as contains_saved_model
from tfx.saved_model.load import load as load
from tfx.saved_model.variable_swap import assign as assign
from tfx.saved_model.variable_swap import reload as reload

_complete(__name__)
