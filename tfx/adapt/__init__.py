"""Fine-tuning: adapters beside the weights of a model that is there already, and its train step.

``lora`` attaches thin matrices to weights of any ``Module``, ``prefix`` trained keys and values to
its attention, ``freeze`` says what is not trained, and ``train_step`` makes the function, from a
loss and an optimizer, that a bundle offers as a signature.
"""

from __future__ import annotations

from tfx.adapt.adapter import Lora as Lora
from tfx.adapt.adapter_files import load as load
from tfx.adapt.adapter_files import load_lora as load_lora
from tfx.adapt.adapter_files import save as save
from tfx.adapt.attach import lora as lora
from tfx.adapt.attention_prefix import Prefix as Prefix
from tfx.adapt.attention_prefix import prefix as prefix
from tfx.adapt.onnx_step import TrainStepBundle as TrainStepBundle
from tfx.adapt.onnx_step import save_train_step as save_train_step
from tfx.adapt.step import train_step as train_step
from tfx.adapt.targets import named_variables as named_variables
from tfx.adapt.trainable import freeze as freeze
from tfx.adapt.trainable import unfreeze as unfreeze
from tfx.core.namespaces import complete as _complete

_complete(__name__)
