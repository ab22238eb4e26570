"""Dense layers, dropout, flattening and batch normalization."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

from tfx.compat.v1.layer_classes.layer import InputSpec, Layer, activated, channels_first
from tfx.compat.v1.ops.control_flow import cond
from tfx.compat.v1.variables.initializer_classes import Ones, Zeros
from tfx.core.errors import UnimplementedError
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.array.reshape import reshape
from tfx.ops.array.shape import shape
from tfx.ops.array.static_value import get_static_value
from tfx.ops.array.transpose import transpose
from tfx.ops.linalg.matmul import matmul
from tfx.ops.math.cast import cast, identity
from tfx.ops.nn import dropout as dropping
from tfx.ops.nn import normalization

Function = Callable[..., Any]


def signed_like(layer: type[Layer]) -> Callable[[Function], Function]:
    """Show the arguments of a layer as those of the function that makes and calls it.

    Args:
        layer: The class.
    """
    parameters = inspect.signature(layer).parameters.values()
    known = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    first = inspect.Parameter("inputs", kind)
    last = inspect.Parameter("reuse", kind, default=None)

    def signed(function: Function) -> Function:
        made: Any = function
        made.__signature__ = inspect.Signature([first, *known, last])
        return function

    return signed


class Dense(Layer):
    """``activation(inputs @ kernel + bias)``; see ``dense``.

    Args:
        units: Size of the last axis of the output.
        activation: Function of the output; None: none.
        use_bias: Whether a bias is added.
        kernel_initializer: Initializer of the matrix; None: the scope's, or Glorot's.
        bias_initializer: Initializer of the bias.
        kernel_regularizer: Function from the matrix to a loss.
        bias_regularizer: Function from the bias to a loss.
        activity_regularizer: Function from the output to a loss.
        kernel_constraint: Called by optimizers with the new matrix.
        bias_constraint: Called by optimizers with the new bias.
        trainable: Whether its variables are trained.
        name: Its name.
        **kwargs: See ``Layer``.
    """

    def __init__(
        self,
        units: int,
        activation: Function | None = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = Zeros(),  # noqa: B008
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **kwargs)
        self.units, self.activation, self.use_bias = int(units), activation, use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.kernel: Any = None
        self.bias: Any = None
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape: Any) -> None:
        """See ``Layer``."""
        size = None if input_shape.rank is None else input_shape[-1]
        if size is None:
            raise ValueError(
                "The last dimension of the inputs to a Dense layer should be defined. Found None. "
                f"Full input shape received: {input_shape}"
            )
        self.input_spec = InputSpec(min_ndim=2, axes={-1: size})
        self.kernel = self.add_weight(
            "kernel",
            [size, self.units],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """See ``Layer``."""
        outputs = matmul(cast(inputs, self.kernel.dtype), self.kernel)
        if self.bias is not None:
            outputs = outputs + self.bias
        return activated(outputs, self.activation)


@signed_like(Dense)
def dense(inputs: Any, units: int, *args: Any, reuse: Any = None, **kwargs: Any) -> Any:
    """``activation(inputs @ kernel + bias)``, with variables ``kernel`` and ``bias``.

    Args:
        inputs: ``[..., size]``, of a known size.
        units: Size of the last axis of the output.
        *args: The other arguments of ``Dense`` in order.
        reuse: Use the variables of an earlier call of the same ``name``.
        **kwargs: The other arguments of ``Dense``; ``name`` is the variable scope.

    Raises:
        ValueError: the size is not known, or the variables exist.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     y = tf.layers.dense(tf.zeros([3, 4]), 2, tf.nn.relu)
        ...     print(y.shape, [v.name for v in tf.trainable_variables()])
        (3, 2) ['dense/kernel:0', 'dense/bias:0']
    """
    return called(Dense, inputs, (units, *args), kwargs, reuse)


def called(
    layer: type[Layer], inputs: Any, args: Sequence[Any], options: dict[str, Any], reuse: Any
) -> Any:
    """The output of a layer that is made for one call.

    Args:
        layer: The class.
        inputs: Its input.
        args: Its arguments in order; the one behind the last is ``reuse``.
        options: Its other arguments.
        reuse: Whether its variables exist.
    """
    parameters = inspect.signature(layer).parameters.values()
    known = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    if len(args) == len(known) + 1:
        args, reuse = args[:-1], args[-1]
    given = {**dict(zip(known, args, strict=False)), **options}
    if len(args) > len(known) or len(given) < len(args) + len(options):
        raise TypeError(f"{layer.__name__} got arguments twice, or too many: {args}, {options}")
    name = given.get("name")
    return layer(**given, _scope=name, _reuse=reuse)(inputs)


class Dropout(Layer):
    """Sets a share of its input to zero while it is trained; see ``dropout``.

    Args:
        rate: The share.
        noise_shape: Shape of what is drawn.
        seed: See ``random_normal``.
        name: Its name.
        **kwargs: See ``Layer``.
    """

    def __init__(
        self,
        rate: Any = 0.5,
        noise_shape: Any = None,
        seed: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs: Any, *args: Any, training: Any = False, **kwargs: Any) -> Any:
        """See ``Layer``.

        Args:
            inputs: The input.
            *args: ``training``.
            training: Whether it is trained, which may be a tensor.
            **kwargs: None.
        """
        training = args[0] if args else training

        def dropped() -> Any:
            return dropping.dropout(inputs, self.rate, self.noise_shape, self.seed)

        return decided(training, dropped, lambda: identity(inputs))


def decided(training: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """One of two results, at once where it is known which."""
    known = get_static_value(training) if isinstance(training, Tensor) else training
    if known is not None:
        return yes() if bool(known) else no()
    return cond(cast(convert_to_tensor(training), "bool"), yes, no)


def dropout(
    inputs: Any,
    rate: Any = 0.5,
    noise_shape: Any = None,
    seed: int | None = None,
    training: Any = False,
    name: str | None = None,
) -> Any:
    """``inputs`` with a share of zeros while training, the others scaled up; else as they are.

    Args:
        inputs: A tensor.
        rate: The share of zeros.
        noise_shape: Shape of what is drawn; broadcasts against ``inputs``.
        seed: See ``random_normal``.
        training: Whether this is training: a boolean, or a boolean tensor.
        name: Name of the scope.
    """
    return Dropout(rate, noise_shape, seed, name)(inputs, training=training)


class Flatten(Layer):
    """``[batch, ...]`` as ``[batch, size]``; see ``flatten``.

    Args:
        data_format: ``"channels_first"``: the channels are put last before.
        **kwargs: See ``Layer``.
    """

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._first = data_format is not None and channels_first(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """See ``Layer``."""
        rank = inputs.shape.rank
        if self._first and rank is not None and rank > 1:
            inputs = transpose(inputs, [0, *range(2, rank), 1])
        sizes = inputs.shape.as_list()[1:] if rank is not None else [None]
        if None not in sizes:
            return reshape(inputs, [-1, math.prod(sizes)])
        if inputs.shape[0] is not None:
            return reshape(inputs, [inputs.shape[0], -1])
        return reshape(inputs, [shape(inputs)[0], -1])


def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Any:
    """``[batch, ...]`` as ``[batch, size]``.

    Args:
        inputs: A tensor.
        name: Name of the scope.
        data_format: ``"channels_first"``: the channels are put last before.
    """
    return Flatten(data_format=data_format, name=name)(inputs)


class BatchNormalization(Layer):
    """Normalizes channels by the batch, or by what it knows of earlier ones.

    See ``batch_normalization``.

    Args:
        axis: The axis of the channels, or several.
        momentum: What is kept of the moving statistics at each step.
        epsilon: Added to the variance.
        center: Whether there is a ``beta``.
        scale: Whether there is a ``gamma``.
        beta_initializer: Initializer.
        gamma_initializer: Initializer.
        moving_mean_initializer: Initializer.
        moving_variance_initializer: Initializer.
        beta_regularizer: Function from ``beta`` to a loss.
        gamma_regularizer: Function from ``gamma`` to a loss.
        beta_constraint: Called by optimizers with the new value.
        gamma_constraint: Called by optimizers with the new value.
        renorm: Must be False.
        renorm_clipping: Accepted for compatibility.
        renorm_momentum: Accepted for compatibility.
        fused: Whether the moving variance is that of a sample, divided by one less than the number
            of elements; None: for inputs of four axes.
        trainable: Whether its variables are trained.
        virtual_batch_size: Must be None.
        adjustment: Must be None.
        name: Its name.
        **kwargs: See ``Layer``.

    Raises:
        UnimplementedError: what must be left out was given.
    """

    def __init__(
        self,
        axis: Any = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = Zeros(),  # noqa: B008
        gamma_initializer: Any = Ones(),  # noqa: B008
        moving_mean_initializer: Any = Zeros(),  # noqa: B008
        moving_variance_initializer: Any = Ones(),  # noqa: B008
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        renorm: bool = False,
        renorm_clipping: Any = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, **kwargs)
        if renorm or virtual_batch_size is not None or adjustment is not None:
            raise UnimplementedError(
                "batch_normalization takes no renorm, virtual_batch_size and adjustment; got "
                f"{renorm}, {virtual_batch_size} and {adjustment}. Leave them out."
            )
        self.axis, self.momentum, self.epsilon = axis, momentum, epsilon
        self.center, self.scale, self.fused = center, scale, fused
        self.beta_initializer, self.gamma_initializer = beta_initializer, gamma_initializer
        self.moving_mean_initializer = moving_mean_initializer
        self.moving_variance_initializer = moving_variance_initializer
        self.beta_regularizer, self.gamma_regularizer = beta_regularizer, gamma_regularizer
        self.beta_constraint, self.gamma_constraint = beta_constraint, gamma_constraint
        self.beta: Any = None
        self.gamma: Any = None
        self.moving_mean: Any = None
        self.moving_variance: Any = None
        self._axes: list[int] = []

    def build(self, input_shape: Any) -> None:
        """See ``Layer``."""
        rank = input_shape.rank
        if rank is None:
            raise ValueError("BatchNormalization takes inputs of a known rank.")
        axes = [self.axis] if isinstance(self.axis, int) else list(self.axis)
        for axis in axes:
            if not -rank <= axis < rank:
                raise ValueError(f"Invalid axis {axis}: the input has {rank} axes.")
        self._axes = [axis % rank for axis in axes]
        sizes = [input_shape[a] for a in self._axes]
        if None in sizes:
            raise ValueError(f"Input has undefined `axis` dimension. Input shape: {input_shape}")
        if len(sizes) > 1:
            sizes = [n if a in self._axes else 1 for a, n in enumerate(input_shape.as_list())]
        kind = {"float16": "float32", "bfloat16": "float32"}.get(self.dtype or "", self.dtype)
        if self.scale:
            self.gamma = self.add_weight(
                "gamma",
                sizes,
                kind,
                self.gamma_initializer,
                self.gamma_regularizer,
                constraint=self.gamma_constraint,
            )
        if self.center:
            self.beta = self.add_weight(
                "beta",
                sizes,
                kind,
                self.beta_initializer,
                self.beta_regularizer,
                constraint=self.beta_constraint,
            )
        self.moving_mean = self.add_weight(
            "moving_mean", sizes, kind, self.moving_mean_initializer, trainable=False
        )
        self.moving_variance = self.add_weight(
            "moving_variance", sizes, kind, self.moving_variance_initializer, trainable=False
        )
        self.built = True

    def call(self, inputs: Any, *args: Any, training: Any = False, **kwargs: Any) -> Any:
        """See ``Layer``.

        Args:
            inputs: The input.
            *args: ``training``.
            training: Whether the batch's statistics are taken, which may be a tensor.
            **kwargs: None.
        """
        training = args[0] if args else training
        x = cast(inputs, self.moving_mean.dtype)
        rank = inputs.shape.rank
        fused = self.fused if self.fused is not None else rank == 4 and self._axes in ([1], [3])
        over = [a for a in range(rank) if a not in self._axes]
        several = len(self._axes) > 1

        def measured() -> Any:
            mean, variance = normalization.moments(x, over, keepdims=several)
            kept = variance
            if fused:
                count: Any = 1.0
                for a in over:
                    count = count * cast(shape(x)[a], x.dtype)
                kept = variance * (count / (count - 1.0))
            rest = convert_to_tensor(1.0 - self.momentum, x.dtype)
            old = convert_to_tensor(self.moving_mean), convert_to_tensor(self.moving_variance)
            new = [m - (m - found) * rest for m, found in zip(old, (mean, kept), strict=True)]
            return mean, variance, *new

        def remembered() -> Any:
            mean, variance = map(convert_to_tensor, (self.moving_mean, self.moving_variance))
            return mean, variance, mean, variance

        known = get_static_value(training) if isinstance(training, Tensor) else training
        mean, variance, new_mean, new_variance = decided(training, measured, remembered)
        if known is None or bool(known):
            self.add_update(
                [self.moving_mean.assign(new_mean), self.moving_variance.assign(new_variance)]
            )
        return cast(self._normalized(x, mean, variance), inputs.dtype)

    def _normalized(self, x: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        sizes = [x.shape[a] if a in self._axes else 1 for a in range(x.shape.rank or 0)]
        parts: list[Any] = [
            None if part is None else reshape(part, sizes)
            for part in (mean, variance, self.beta, self.gamma)
        ]
        mean, variance, beta, gamma = parts
        return normalization.batch_normalization(x, mean, variance, beta, gamma, self.epsilon)


def batch_normalization(
    inputs: Any, *args: Any, training: Any = False, reuse: Any = None, **kwargs: Any
) -> Any:
    """Normalized channels: by the batch while training, else by moving statistics.

    While training, the operations in ``GraphKeys.UPDATE_OPS`` have to be run with each step: they
    keep the moving statistics up to date.

    Args:
        inputs: A tensor.
        *args: The other arguments of ``BatchNormalization`` up to ``gamma_constraint``, in order;
            then ``training``, ``trainable``, ``name``, ``reuse`` and the others.
        training: Whether this is training: a boolean, or a boolean tensor.
        reuse: Use the variables of an earlier call of the same ``name``.
        **kwargs: The other arguments of ``BatchNormalization``.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     y = tf.layers.batch_normalization(tf.zeros([3, 4]), training=True)
        ...     len(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        2
    """
    given = {**dict(zip(_BATCH_NORMALIZATION, args, strict=False)), **kwargs}
    training, reuse = given.pop("training", training), given.pop("reuse", reuse)
    layer = BatchNormalization(**given, _scope=given.get("name"), _reuse=reuse)
    return layer(inputs, training=training)


_LATE = (
    *("training", "trainable", "name", "reuse", "renorm", "renorm_clipping", "renorm_momentum"),
    *("fused", "virtual_batch_size", "adjustment"),
)
_BATCH_NORMALIZATION = (
    *[n for n in inspect.signature(BatchNormalization).parameters if n not in (*_LATE, "kwargs")],
    *_LATE,
)


def _show_arguments() -> None:
    known = inspect.signature(BatchNormalization).parameters
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    added = {
        "training": inspect.Parameter("training", kind, default=False),
        "reuse": inspect.Parameter("reuse", kind, default=None),
    }
    found = [added.get(name) or known[name] for name in _BATCH_NORMALIZATION]
    made: Any = batch_normalization
    made.__signature__ = inspect.Signature([inspect.Parameter("inputs", kind), *found])


_show_arguments()
