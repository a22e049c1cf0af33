"""Arrays of NumPy and tensors of torch alike: as the native module takes them, and answers of the same kind."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from corpusdb.errors import BadInput

__all__ = ["alike", "array_of", "gathered", "is_tensor", "scattered", "whole_numbers"]


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor of torch, which is not imported for that."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return tensor is not None and isinstance(value, tensor)


def array_of(values: Any) -> npt.NDArray[Any]:
    """The values as an array: without a copy where they are one, or a tensor of the CPU."""
    if not is_tensor(values):
        return np.asarray(values)
    values = values.detach().cpu()
    # NumPy has not all floats of torch.
    return np.asarray(values.double() if values.is_floating_point() else values)


def whole_numbers(values: Any, name: str) -> npt.NDArray[np.int64]:
    """The values as a row of int64."""
    array = array_of(values)
    if array.ndim != 1:
        raise BadInput(f"`{name}` has {array.ndim} dimensions; expected one, a number a document")
    # An empty list has the type of floats.
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.dtype.kind not in "iu" or not np.can_cast(array.dtype, np.int64) and array.max() >= 1 << 63:
        raise BadInput(f"`{name}` has values of type {array.dtype}; expected whole numbers below 2**63")
    return np.ascontiguousarray(array, np.int64)


def alike(array: npt.NDArray[Any], model: Any) -> Any:
    """The array as what `model` is: an array, or a tensor on its device."""
    return sys.modules["torch"].from_numpy(array).to(model.device) if is_tensor(model) else array


def gathered(values: Any, indices: npt.NDArray[np.int64]) -> Any:
    """The rows of an array or a tensor at these places."""
    return values.index_select(0, alike(indices, values)) if is_tensor(values) else values[indices]


def scattered(values: Any, indices: npt.NDArray[np.int64], rows: int, fill: Any) -> Any:
    """An array or a tensor of `rows` rows, with `values` at these places, and `fill` elsewhere."""
    shape = (rows, *values.shape[1:])
    if is_tensor(values):
        return values.new_full(shape, fill).index_copy_(0, alike(indices, values), values)
    padded = np.full(shape, fill, values.dtype)
    padded[indices] = values
    return padded
