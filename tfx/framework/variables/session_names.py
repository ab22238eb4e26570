"""``SessionNames``: what TensorFlow 1's variables have, which libraries ask for in either mode.

A variable has its value from the beginning here, so there is nothing to initialize and nothing
that a session holds; variables of a ``tfx.compat.v1.Graph`` say otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfx.core.references import Reference
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor


class SessionNames:
    """Attributes of the time of sessions; a part of ``Variable``."""

    __slots__ = ()

    if TYPE_CHECKING:
        _name: str

        def assign(self, value: Any) -> Any:
            """See ``Variable.assign``."""

        def ref(self) -> Reference:
            """See ``Variable.ref``."""

    @property
    def initializer(self) -> Any:
        """None: there is nothing to run, the variable has its value from the beginning."""
        return None

    @property
    def initial_value(self) -> Any:
        """Refused: what the first value was is not kept."""
        raise RuntimeError(
            f"The initial value of {self._name!r} is not kept where variables have their values at "
            "once; only variables of a tfx.compat.v1.Graph have one. Take value()."
        )

    def load(self, value: Any, session: Any = None) -> None:
        """Assign a value.

        Args:
            value: The value.
            session: Accepted for compatibility.
        """
        self.assign(value)

    def eval(self, session: Any = None) -> Any:
        """Refused: it is sessions that compute values of TensorFlow 1's variables."""
        raise RuntimeError(
            f"{self._name!r}.eval() needs a session, which variables of a tfx.compat.v1.Graph "
            "have; take numpy()."
        )

    def is_initialized(self, name: str | None = None) -> Tensor:
        """True, as a tensor.

        Args:
            name: Accepted for compatibility.
        """
        return convert_to_tensor(True)

    def experimental_ref(self) -> Reference:
        """Older name of ``ref``."""
        return self.ref()

    @property
    def _handle_name(self) -> str:
        """Same as ``name``; libraries use it, as they use TensorFlow's."""
        return self._name

    @property
    def _in_graph_mode(self) -> bool:
        """Return whether sessions hold the value."""
        return False

    @property
    def _initializer_op(self) -> Any:
        """Same as ``initializer``."""
        return self.initializer

    # One of the variables that a partitioner cut a large one into knows its place.
    _save_slice_info: Any = None

    def _get_save_slice_info(self) -> Any:
        """The variable's place in a larger one: None, or what ``_set_save_slice_info`` said."""
        return self._save_slice_info

    def _set_save_slice_info(self, save_slice_info: Any) -> None:
        """Remember the variable's place in a larger one; nothing is cut here."""
        self._save_slice_info = save_slice_info
