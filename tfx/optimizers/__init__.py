"""Optimizers: what turns gradients into new values of variables.

Names, arguments and formulas are those of ``tf.keras.optimizers``. A step is made of ordinary
operations, so inside a ``tfx.function`` it becomes a few nodes per variable.
"""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.optimizers import schedules as schedules
from tfx.optimizers.adagrad import Adadelta as Adadelta
from tfx.optimizers.adagrad import Adagrad as Adagrad
from tfx.optimizers.adam import Adam as Adam
from tfx.optimizers.adam import Adamax as Adamax
from tfx.optimizers.adam import AdamW as AdamW
from tfx.optimizers.adam import Nadam as Nadam
from tfx.optimizers.ftrl import Ftrl as Ftrl
from tfx.optimizers.loss_scale_optimizer import LossScaleOptimizer as LossScaleOptimizer
from tfx.optimizers.momentum import SGD as SGD
from tfx.optimizers.momentum import Lion as Lion
from tfx.optimizers.momentum import RMSprop as RMSprop
from tfx.optimizers.optimizer import Optimizer as Optimizer
from tfx.optimizers.registry import deserialize as deserialize
from tfx.optimizers.registry import get as get
from tfx.optimizers.registry import serialize as serialize

_complete(__name__)
