"""Initializers: what makes the first values of variables.

Names and arguments are those of ``tf.keras.initializers``; each class has its lower-case alias.
"""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.initializers.fixed import Constant as Constant
from tfx.initializers.fixed import Identity as Identity
from tfx.initializers.fixed import Ones as Ones
from tfx.initializers.fixed import Zeros as Zeros
from tfx.initializers.initializer import Initializer as Initializer
from tfx.initializers.random import Orthogonal as Orthogonal
from tfx.initializers.random import RandomNormal as RandomNormal
from tfx.initializers.random import RandomUniform as RandomUniform
from tfx.initializers.random import TruncatedNormal as TruncatedNormal
from tfx.initializers.registry import deserialize as deserialize
from tfx.initializers.registry import get as get
from tfx.initializers.registry import serialize as serialize
from tfx.initializers.scaling import GlorotNormal as GlorotNormal
from tfx.initializers.scaling import GlorotUniform as GlorotUniform
from tfx.initializers.scaling import HeNormal as HeNormal
from tfx.initializers.scaling import HeUniform as HeUniform
from tfx.initializers.scaling import LecunNormal as LecunNormal
from tfx.initializers.scaling import LecunUniform as LecunUniform
from tfx.initializers.scaling import VarianceScaling as VarianceScaling

constant = Constant
glorot_normal = GlorotNormal
glorot_uniform = GlorotUniform
he_normal = HeNormal
he_uniform = HeUniform
identity = Identity
lecun_normal = LecunNormal
lecun_uniform = LecunUniform
ones = Ones
orthogonal = Orthogonal
random_normal = RandomNormal
random_uniform = RandomUniform
truncated_normal = TruncatedNormal
variance_scaling = VarianceScaling
zeros = Zeros

_complete(__name__)
