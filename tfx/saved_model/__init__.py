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
from tfx.saved_model.constants import ASSETS_DIRECTORY as ASSETS_DIRECTORY
from tfx.saved_model.constants import ASSETS_KEY as ASSETS_KEY
from tfx.saved_model.constants import CLASSIFY_INPUTS as CLASSIFY_INPUTS
from tfx.saved_model.constants import CLASSIFY_METHOD_NAME as CLASSIFY_METHOD_NAME
from tfx.saved_model.constants import CLASSIFY_OUTPUT_CLASSES as CLASSIFY_OUTPUT_CLASSES
from tfx.saved_model.constants import CLASSIFY_OUTPUT_SCORES as CLASSIFY_OUTPUT_SCORES
from tfx.saved_model.constants import DEBUG_DIRECTORY as DEBUG_DIRECTORY
from tfx.saved_model.constants import DEBUG_INFO_FILENAME_PB as DEBUG_INFO_FILENAME_PB
from tfx.saved_model.constants import GPU as GPU
from tfx.saved_model.constants import PREDICT_INPUTS as PREDICT_INPUTS
from tfx.saved_model.constants import PREDICT_METHOD_NAME as PREDICT_METHOD_NAME
from tfx.saved_model.constants import PREDICT_OUTPUTS as PREDICT_OUTPUTS
from tfx.saved_model.constants import REGRESS_INPUTS as REGRESS_INPUTS
from tfx.saved_model.constants import REGRESS_METHOD_NAME as REGRESS_METHOD_NAME
from tfx.saved_model.constants import REGRESS_OUTPUTS as REGRESS_OUTPUTS
from tfx.saved_model.constants import SAVED_MODEL_FILENAME_PB as SAVED_MODEL_FILENAME_PB
from tfx.saved_model.constants import SAVED_MODEL_FILENAME_PBTXT as SAVED_MODEL_FILENAME_PBTXT
from tfx.saved_model.constants import SAVED_MODEL_SCHEMA_VERSION as SAVED_MODEL_SCHEMA_VERSION
from tfx.saved_model.constants import SERVING as SERVING
from tfx.saved_model.constants import TPU as TPU
from tfx.saved_model.constants import TRAINING as TRAINING
from tfx.saved_model.constants import VARIABLES_DIRECTORY as VARIABLES_DIRECTORY
from tfx.saved_model.constants import VARIABLES_FILENAME as VARIABLES_FILENAME
from tfx.saved_model.load import LoadOptions as LoadOptions
from tfx.saved_model.load import contains_saved_model as contains_saved_model
from tfx.saved_model.load import load as load
from tfx.saved_model.variable_swap import assign as assign
from tfx.saved_model.variable_swap import reload as reload

_complete(__name__)
