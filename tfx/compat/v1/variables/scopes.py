"""``variable_scope`` and ``get_variable``: variables shared by name."""

from __future__ import annotations

import enum
import functools
import inspect
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from tfx.compat.v1.graph.collections import GraphKeys
from tfx.compat.v1.graph.default_graph import building
from tfx.compat.v1.graph.name_scopes import scope_of_current_graph
from tfx.compat.v1.variables.variable_store import get_or_make, get_or_make_partitioned, store_of
from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor
from tfx.framework.function_wrappers import remake_with
from tfx.framework.variable import VariableAggregation, VariableSynchronization


class _Reuse(enum.Enum):
    AUTO_REUSE = 1


AUTO_REUSE = _Reuse.AUTO_REUSE


class VariableScope:
    """The settings of ``get_variable`` inside a ``variable_scope``.

    Attributes:
        name: Prefix of variables' names, without the last ``/``.
        original_name_scope: The name scope that was opened first with it.
    """

    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        name_scope: str = "",
        dtype: DTypeLike = dtypes.float32,
        use_resource: bool | None = None,
        constraint: Any = None,
    ) -> None:
        self.name = name
        self.initializer = initializer
        self.regularizer = regularizer
        self.caching_device = caching_device
        self.partitioner = partitioner
        self.custom_getter = custom_getter
        self.original_name_scope = name_scope
        self.dtype: DType = dtypes.as_dtype(dtype)
        self.use_resource = use_resource
        self.constraint = constraint
        self._reuse = reuse

    @property
    def reuse(self) -> Any:
        """True: variables must exist; False or None: they must not; or ``AUTO_REUSE``."""
        return self._reuse

    def reuse_variables(self) -> None:
        """Let ``get_variable`` return what exists from here on."""
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Set the initializer of variables that are given none."""
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """Set the regularizer of variables that are given none."""
        self.regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        """Set where copies of variables are kept; here variables have none."""
        self.caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        """Set what cuts variables into pieces that are given no partitioner."""
        self.partitioner = partitioner

    def set_custom_getter(self, custom_getter: Any) -> None:
        """Set what ``get_variable`` calls."""
        self.custom_getter = custom_getter

    def set_dtype(self, dtype: DTypeLike) -> None:
        """Set the dtype of variables that are given none."""
        self.dtype = dtypes.as_dtype(dtype)

    def set_use_resource(self, use_resource: bool) -> None:
        """Accepted for compatibility."""
        self.use_resource = use_resource

    def get_collection(self, name: Any) -> list[Any]:
        """Return the items of a collection that belong to this scope."""
        return building().get_collection(name, f"{self.name}/" if self.name else None)

    def global_variables(self) -> list[Any]:
        """The variables of this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """The local variables of this scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def trainable_variables(self) -> list[Any]:
        """The trainable variables of this scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def copy(self, **changes: Any) -> VariableScope:
        """The same with some attributes changed."""
        other = VariableScope(self._reuse)
        other.__dict__.update(self.__dict__)
        other.__dict__.update(changes)
        return other

    def get_variable(
        self,
        name: str,
        shape: Any = None,
        dtype: DTypeLike | None = None,
        initializer: Any = None,
        regularizer: Any = None,
        reuse: Any = None,
        trainable: bool | None = None,
        collections: Sequence[Any] | None = None,
        caching_device: Any = None,
        partitioner: Any = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        custom_getter: Any = None,
        constraint: Any = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Any:
        """See ``tf.compat.v1.get_variable``."""
        full = f"{self.name}/{name}" if self.name else name
        wanted = None if dtype is None else dtypes.as_dtype(dtype)
        if initializer is None:
            initializer = self.initializer
        if initializer is not None and not callable(initializer):
            kind = convert_to_tensor(initializer).dtype
            if wanted is not None and wanted is not kind:
                raise ValueError(
                    f"Initializer type '{kind.name}' and explicit dtype '{wanted.name}' don't "
                    "match."
                )
            wanted = kind
        reuse = self._reuse if reuse is None else reuse
        options: dict[str, Any] = {
            "shape": shape,
            "dtype": wanted or self.dtype,
            "initializer": initializer,
            "regularizer": self.regularizer if regularizer is None else regularizer,
            "reuse": reuse,
            "trainable": trainable,
            "collections": collections,
            "validate_shape": validate_shape,
            "constraint": self.constraint if constraint is None else constraint,
            "synchronization": synchronization,
            "aggregation": aggregation,
            "partitioner": self.partitioner if partitioner is None else partitioner,
        }
        getter = self.custom_getter if custom_getter is None else custom_getter
        if getter is None:
            return _true_getter(full, **options)
        return _accepting(getter)(_true_getter, full, **options)


def _true_getter(name: str, shape: Any = None, **options: Any) -> Any:
    """Get or create a variable; a custom getter calls this."""
    for unused in ("caching_device", "use_resource"):
        options.pop(unused, None)
    defaults: dict[str, Any] = {
        "dtype": dtypes.float32,
        "initializer": None,
        "regularizer": None,
        "reuse": None,
        "trainable": None,
        "collections": None,
        "validate_shape": True,
        "constraint": None,
    }
    options = {**defaults, **options}
    options["dtype"] = dtypes.as_dtype(options["dtype"])
    auto = options["reuse"] is AUTO_REUSE
    partitioner = options.pop("partitioner", None)
    if partitioner is not None:
        return get_or_make_partitioned(partitioner, name=name, shape=shape, auto=auto, **options)
    return get_or_make(name=name, shape=shape, auto=auto, **options)


def _accepting(getter: Callable[..., Any]) -> Callable[..., Any]:
    """A custom getter that is only given the options it takes."""
    parameters = inspect.signature(getter).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return getter

    def call(*args: Any, **kwargs: Any) -> Any:
        return getter(*args, **{k: v for k, v in kwargs.items() if k in parameters})

    return call


def get_variable_scope() -> VariableScope:
    """The current variable scope.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.variable_scope("a"), tf.variable_scope("b"):
        ...     tf.get_variable_scope().name
        'a/b'
    """
    store = store_of()
    if store.scope is None:
        store.scope = VariableScope(False)
    scope: VariableScope = store.scope
    return scope


def get_variable(
    name: str,
    shape: Any = None,
    dtype: DTypeLike | None = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Sequence[Any] | None = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """The variable of a name in the current variable scope, made if it does not exist.

    Args:
        name: Name, below the scope's.
        shape: Shape; not with an initializer that is a tensor or numbers.
        dtype: Element type; None: the scope's, float32.
        initializer: A function of shape and dtype, one without arguments, a tensor or numbers;
            None: the scope's, or Glorot's uniform numbers, or zeros.
        regularizer: A function from the variable to a loss, which is collected.
        trainable: Whether the variable is trained; None: unless it is read when it is not there.
        collections: What it is put into; None: the global variables.
        caching_device: Accepted for compatibility.
        partitioner: What cuts the variable into pieces, such as ``fixed_size_partitioner(2)``; the
            result then is a ``PartitionedVariable``.
        validate_shape: Whether the shape of the initial value must be known.
        use_resource: Accepted for compatibility.
        custom_getter: Called instead, with this function as its first argument.
        constraint: A function that a value goes through when an optimizer has changed it.
        synchronization: Accepted for compatibility.
        aggregation: Accepted for compatibility.

    Returns:
        The variable.

    Raises:
        ValueError: it exists and the scope does not reuse, or the other way round; or what is said
            of it does not fit.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     with tf.variable_scope("layer"):
        ...         w = tf.get_variable("w", [2, 3])
        ...     with tf.variable_scope("layer", reuse=True):
        ...         print(w.name, tf.get_variable("w") is w)
        layer/w:0 True
    """
    return get_variable_scope().get_variable(
        name,
        shape,
        dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=collections,
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def get_local_variable(
    name: str,
    shape: Any = None,
    dtype: DTypeLike | None = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = False,
    collections: Sequence[Any] | None = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """``get_variable`` for the collection of local variables, never trainable."""
    return get_variable(
        name,
        shape,
        dtype,
        initializer,
        regularizer,
        False,
        [*(collections or []), GraphKeys.LOCAL_VARIABLES],
        caching_device,
        partitioner,
        validate_shape,
        use_resource,
        custom_getter,
        constraint,
        synchronization,
        aggregation,
    )


class variable_scope:  # noqa: N801
    """Prefix the names that ``get_variable`` finds variables by, and say how.

    Args:
        name_or_scope: A name, or a ``VariableScope`` to enter again.
        default_name: Name, made unique, where ``name_or_scope`` is None.
        values: Accepted for compatibility.
        initializer: For variables that are given none.
        regularizer: For variables that are given none.
        caching_device: Accepted for compatibility.
        partitioner: For variables that are given none.
        custom_getter: Called instead of the usual way to get a variable, with that way as its
            first argument.
        reuse: True: variables must exist. False: what the scope around says. ``AUTO_REUSE``: those
            that exist are used, the others made.
        dtype: For variables that are given none.
        use_resource: Accepted for compatibility.
        constraint: For variables that are given none.
        auxiliary_name_scope: Whether a name scope of the same name is opened too.

    Raises:
        TypeError: neither a name nor a default name.
        ValueError: ``reuse`` is something else, or given without a name.
    """

    def __init__(
        self,
        name_or_scope: Any,
        default_name: str | None = None,
        values: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        reuse: Any = None,
        dtype: DTypeLike | None = None,
        use_resource: bool | None = None,
        constraint: Any = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if reuse not in (None, True, False, AUTO_REUSE):
            raise ValueError("The reuse parameter must be True or False or None.")
        if name_or_scope is not None and not isinstance(name_or_scope, str | VariableScope):
            raise TypeError(
                "VariableScope: name_or_scope must be a string or VariableScope; got "
                f"{name_or_scope!r}."
            )
        if name_or_scope is None and reuse:
            raise ValueError("reuse=True cannot be used without a name_or_scope")
        self._name_or_scope = name_or_scope
        self._default_name = default_name
        self._reuse = reuse or None
        self._auxiliary = auxiliary_name_scope
        self._custom_getter = custom_getter
        given = {
            "initializer": initializer,
            "regularizer": regularizer,
            "caching_device": caching_device,
            "partitioner": partitioner,
            "dtype": None if dtype is None else dtypes.as_dtype(dtype),
            "use_resource": use_resource,
            "constraint": constraint,
        }
        self._changes = {k: v for k, v in given.items() if v is not None}
        self._entered: list[tuple[ExitStack, Any, Any]] = []

    def __enter__(self) -> VariableScope:
        store, outer = store_of(), get_variable_scope()
        label: str
        given = self._name_or_scope
        if isinstance(given, VariableScope):
            label, full, base = given.name.rpartition("/")[2], given.name, given
        else:
            label = str(self._default_name) if given is None else given
            if given is None:
                given = store.unique_scope(outer.name, label)
            full = f"{outer.name}/{given}" if outer.name else given
            base = outer
        stack = ExitStack()
        names = (
            stack.enter_context(scope_of_current_graph(label)) if self._auxiliary and label else ""
        )
        inner = base.copy(name=full, **self._changes)
        inner._reuse = self._reuse or (base.reuse if base.reuse else outer.reuse)
        if base is outer:
            inner.original_name_scope = names if self._auxiliary else current().scope
        getter = self._custom_getter
        if getter is not None:
            inner.custom_getter = _composed(getter, base.custom_getter)
        counts = dict(store.opened)
        store.open_scope(full)
        self._entered.append((stack, outer, counts if base is not outer else None))
        store.scope = inner
        return inner

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        stack, outer, counts = self._entered.pop()
        store = store_of()
        store.close_subscopes(store.scope.name)
        if counts is not None:
            store.opened = counts
        store.scope = outer
        stack.close()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function: each of its calls is inside the scope."""

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        remake_with(inside, lambda convert: self(convert(function)))
        return inside


def variable_op_scope(
    values: Any,
    name_or_scope: Any,
    default_name: str | None = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    reuse: Any = None,
    dtype: DTypeLike | None = None,
    use_resource: bool | None = None,
    constraint: Any = None,
) -> variable_scope:
    """``variable_scope`` with an older order of arguments.

    Args:
        values: Accepted for compatibility.
        name_or_scope: See ``variable_scope``.
        default_name: See ``variable_scope``.
        initializer: See ``variable_scope``, as all others.
        regularizer: For variables that are given none.
        caching_device: Accepted for compatibility.
        partitioner: For variables that are given none.
        custom_getter: Called instead of the usual way to get a variable.
        reuse: Whether variables must exist.
        dtype: For variables that are given none.
        use_resource: Accepted for compatibility.
        constraint: For variables that are given none.
    """
    return variable_scope(
        name_or_scope,
        default_name,
        values,
        initializer=initializer,
        regularizer=regularizer,
        caching_device=caching_device,
        partitioner=partitioner,
        custom_getter=custom_getter,
        reuse=reuse,
        dtype=dtype,
        use_resource=use_resource,
        constraint=constraint,
    )


def _composed(inner: Callable[..., Any], outer: Callable[..., Any] | None) -> Callable[..., Any]:
    """A custom getter inside the scope of another one: it is called first."""
    if outer is None:
        return inner

    def both(getter: Any, *args: Any, **kwargs: Any) -> Any:
        return _accepting(inner)(functools.partial(_accepting(outer), getter), *args, **kwargs)

    return both


def no_regularizer(_: Any) -> None:
    """A regularizer for variables that the scope's shall not apply to."""
