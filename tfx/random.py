"""``tfx.random``: random tensors, stateful and stateless, all from Philox4x32-10."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.core.namespaces import namespace as _namespace
from tfx.ops.nn.candidate_samplers import all_candidate_sampler as all_candidate_sampler
from tfx.ops.nn.candidate_samplers import (
    fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler,
)
from tfx.ops.nn.candidate_samplers import (
    log_uniform_candidate_sampler as log_uniform_candidate_sampler,
)
from tfx.ops.nn.candidate_samplers import uniform_candidate_sampler as uniform_candidate_sampler
from tfx.ops.random.bounded_normal import (
    stateless_parameterized_truncated_normal as stateless_parameterized_truncated_normal,
)
from tfx.ops.random.generator import Algorithm as Algorithm
from tfx.ops.random.generator import Generator as Generator
from tfx.ops.random.generator import create_rng_state as create_rng_state
from tfx.ops.random.generator import get_global_generator as get_global_generator
from tfx.ops.random.generator import set_global_generator as set_global_generator
from tfx.ops.random.generator import set_seed as set_seed
from tfx.ops.random.index_shuffle import index_shuffle as _index_shuffle
from tfx.ops.random.random import categorical as categorical
from tfx.ops.random.random import fold_in as fold_in
from tfx.ops.random.random import gamma as gamma
from tfx.ops.random.random import normal as normal
from tfx.ops.random.random import poisson as poisson
from tfx.ops.random.random import shuffle as shuffle
from tfx.ops.random.random import split as split
from tfx.ops.random.random import stateless_binomial as stateless_binomial
from tfx.ops.random.random import stateless_categorical as stateless_categorical
from tfx.ops.random.random import stateless_gamma as stateless_gamma
from tfx.ops.random.random import stateless_normal as stateless_normal
from tfx.ops.random.random import stateless_poisson as stateless_poisson
from tfx.ops.random.random import stateless_shuffle as _stateless_shuffle
from tfx.ops.random.random import stateless_truncated_normal as stateless_truncated_normal
from tfx.ops.random.random import stateless_uniform as stateless_uniform
from tfx.ops.random.random import truncated_normal as truncated_normal
from tfx.ops.random.random import uniform as uniform

experimental = _namespace(
    "tfx.random.experimental",
    Algorithm=Algorithm,
    Generator=Generator,
    create_rng_state=create_rng_state,
    get_global_generator=get_global_generator,
    index_shuffle=_index_shuffle,
    set_global_generator=set_global_generator,
    stateless_fold_in=fold_in,
    stateless_shuffle=_stateless_shuffle,
    stateless_split=split,
)

_complete(__name__, "experimental")
