"""Parameters and buffers of torch models as arrays under their names."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.importing.method_graphs import SourceVariable


class TorchWeights:
    """The weights of a torch model.

    Args:
        label: The model, for messages.
        named: Tensors by name; a tied one under each of its names.
        unstored: Names of buffers that a state dict leaves out.

    Attributes:
        tensors: Each tensor once, under its first name.
        tied: The first name of each further name.

    Raises:
        InvalidArgumentError: two tensors have one name.
    """

    def __init__(
        self, label: str, named: Iterable[tuple[str, Any]], unstored: Collection[str] = ()
    ) -> None:
        self._label = label
        self._unstored = frozenset(unstored)
        self.tensors: dict[str, Any] = {}
        self.tied: dict[str, str] = {}
        first: dict[Any, str] = {}
        for name, tensor in named:
            if name in self.tensors or name in self.tied:
                raise InvalidArgumentError(
                    f"{label} has two parameters of the name {name!r}; rename one of them."
                )
            known = first.setdefault(_identity(tensor), name)
            if known == name:
                self.tensors[name] = tensor
            else:
                self.tied[name] = known

    @classmethod
    def of_module(cls, label: str, module: Any) -> TorchWeights:
        """The parameters and buffers of a ``torch.nn.Module``."""
        named = [
            *module.named_parameters(remove_duplicate=False),
            *module.named_buffers(remove_duplicate=False),
        ]
        unstored = {
            f"{path}.{name}" if path else name
            for path, part in module.named_modules(remove_duplicate=False)
            for name in part._non_persistent_buffers_set
        }
        return cls(label, named, unstored)

    @classmethod
    def of_program(cls, label: str, program: Any) -> TorchWeights:
        """The parameters and buffers of a ``torch.export.ExportedProgram``."""
        from torch.export.graph_signature import InputKind

        stored = {**program.constants, **program.state_dict}
        specs = [
            spec
            for spec in program.graph_signature.input_specs
            if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER)
        ]
        named = {**program.state_dict, **{s.target: stored[s.target] for s in specs}}
        return cls(label, named.items(), {s.target for s in specs if s.persistent is False})

    def variables(self) -> dict[str, SourceVariable]:
        """What variables are made from.

        Raises:
            InvalidArgumentError: a tensor has no contents, or of a kind that arrays do not have.
        """
        return {
            name: SourceVariable(
                as_array(f"{self._label}: {name!r}", tensor),
                bool(tensor.requires_grad),
                name not in self._unstored,
            )
            for name, tensor in self.tensors.items()
        }


def _identity(tensor: Any) -> Any:
    """What is the same for tensors of one memory."""
    if tensor.device.type == "meta" or tensor.numel() == 0:
        return id(tensor)
    return tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype


def as_array(what: str, tensor: Any) -> Any:
    """A tensor as an array, without a copy where it is on the CPU.

    Raises:
        InvalidArgumentError: it has no contents, or of a kind that arrays do not have.
    """
    import torch

    if tensor.device.type == "meta":
        raise InvalidArgumentError(
            f"{what} is on the meta device and has no contents; load weights first."
        )
    if tensor.layout != torch.strided or tensor.is_quantized:
        kind = "quantized" if tensor.is_quantized else tensor.layout
        raise InvalidArgumentError(f"{what} is {kind}, expected a plain tensor; convert it first.")
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    if tensor.dtype in _viewed_dtypes():
        whole, dtype = _viewed_dtypes()[tensor.dtype]
        return tensor.contiguous().view(whole).numpy().view(dtype)
    try:
        return tensor.numpy()
    except (TypeError, RuntimeError) as e:
        raise InvalidArgumentError(
            f"{what} has dtype {tensor.dtype}, which arrays do not have; convert it first."
        ) from e


def as_tensor(array: Any) -> Any:
    """A tensor of its own memory with an array's dtype and contents, to the bit.

    Raises:
        InvalidArgumentError: torch has no such dtype.
    """
    import torch

    owned = np.array(array, order="C")
    for theirs, (whole, ours) in _viewed_dtypes().items():
        if owned.dtype == ours:
            bits = owned.view(f"i{owned.dtype.itemsize}" if whole is torch.int16 else "u1")
            return torch.from_numpy(bits).view(theirs)
    try:
        return torch.from_numpy(owned)
    except TypeError as e:
        raise InvalidArgumentError(f"torch has no tensors of dtype {owned.dtype}.") from e


def _viewed_dtypes() -> dict[Any, tuple[Any, Any]]:
    """Dtypes that NumPy gets from elsewhere: an integer of their size, and the dtype."""
    import torch

    found = {torch.bfloat16: (torch.int16, dtypes.bfloat16.as_numpy_dtype)}
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"):
        ours, theirs = getattr(dtypes, name, None), getattr(torch, name, None)
        if ours is not None and theirs is not None:
            found[theirs] = (torch.uint8, ours.as_numpy_dtype)
    return found
