"""Switches between behaviours: tfx has only one, so they are accepted and change nothing."""

from __future__ import annotations


def enable_resource_variables() -> None:
    """Variables are what TensorFlow calls resource variables, always."""


def disable_resource_variables() -> None:
    """Accepted: variables are what TensorFlow calls resource variables, always."""


def resource_variables_enabled() -> bool:
    """True if variables are what TensorFlow calls resource variables: True."""
    return True


def enable_tensor_equality() -> None:
    """Tensors compare by element, those of a ``Graph`` by identity, always."""


def disable_tensor_equality() -> None:
    """Accepted: tensors compare by element, those of a ``Graph`` by identity, always."""


def enable_control_flow_v2() -> None:
    """Control flow is functional, always."""


def disable_control_flow_v2() -> None:
    """Accepted: control flow is functional, always."""


def control_flow_v2_enabled() -> bool:
    """True if control flow is functional: True."""
    return True
