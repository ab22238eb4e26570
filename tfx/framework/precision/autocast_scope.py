"""``autocast``: a scope, or a decorator, inside of which a policy's compute dtype counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast, overload

from tfx.core import dtypes, nest
from tfx.framework.builder import ox
from tfx.framework.context import OpenScopes
from tfx.framework.function_wrappers import remake_with
from tfx.framework.precision.autocast_variable import read_variables_as
from tfx.framework.precision.dtype_policy import Policy, as_policy, global_policy
from tfx.framework.tensor import Tensor

_F = TypeVar("_F", bound=Callable[..., Any])


class _Autocast(OpenScopes):
    """What ``autocast`` returns: to be entered, or to decorate with."""

    def __init__(self, policy: Policy | None) -> None:
        super().__init__()
        self._policy = policy

    def __enter__(self) -> Policy:
        policy = self._policy or global_policy()
        self._enter(read_variables_as(policy.compute_dtype))
        return policy

    def __call__(self, function: _F) -> _F:
        policy = self._policy

        @wraps(function)
        def in_compute_dtype(*args: Any, **kwargs: Any) -> Any:
            chosen = policy or _own_policy(args) or global_policy()
            dtype = dtypes.as_dtype(chosen.compute_dtype)
            args, kwargs = nest.map_structure(
                lambda x: _cast(x, dtype), (args, kwargs), expand_composites=False
            )
            with read_variables_as(dtype):
                return function(*args, **kwargs)

        remake_with(in_compute_dtype, lambda convert: self(convert(function)))
        return cast(_F, in_compute_dtype)


@overload
def autocast(policy: _F, /) -> _F: ...
@overload
def autocast(policy: Policy | str | None = None) -> _Autocast: ...
def autocast(policy: Any = None) -> Any:
    """Compute in a policy's dtype: a ``with`` scope, or a decorator of functions and methods.

    Inside, reading an ``AutoCastVariable`` gives the policy's compute dtype. As a decorator it also
    casts the floating tensors among the arguments, as Keras' layers do: so a module whose
    ``__call__`` is decorated takes inputs of any floating dtype, and computes in its policy's. What
    must be computed in float32 is cast back by the program: softmax, losses, sums over many
    elements.

    Args:
        policy: A policy or its name. None: that of the module whose method is decorated (an
            attribute ``dtype_policy``), or else the global one.

    Raises:
        ValueError: the policy is unknown.

    Example:
        >>> import tfx as tf
        >>> class Dense(tf.Module):
        ...     def __init__(self, units_in, units_out):
        ...         super().__init__()
        ...         self.w = tf.Variable(tf.ones([units_in, units_out]))
        ...
        ...     @tf.mixed_precision.autocast
        ...     def __call__(self, x):
        ...         return x @ self.w
        >>> with tf.mixed_precision.policy_scope("mixed_float16"):
        ...     layer = Dense(2, 3)
        ...     y = layer(tf.ones([1, 2]))
        >>> y.dtype, layer.w.dtype
        (tf.float16, tf.float32)
    """
    if callable(policy) and not isinstance(policy, Policy | dtypes.DType):
        return _Autocast(None)(policy)
    return _Autocast(None if policy is None else as_policy(policy))


def _own_policy(args: tuple[Any, ...]) -> Policy | None:
    own = getattr(args[0], "dtype_policy", None) if args else None
    return None if own is None else as_policy(own)


def _cast(x: Any, dtype: dtypes.DType) -> Any:
    if isinstance(x, Tensor) and x.dtype.is_floating:
        return x if x.dtype is dtype else ox.Cast(x, to=dtype.onnx)
    return x
