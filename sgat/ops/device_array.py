"""DeviceArray: an array on a GPU that NumPy and SciPy compute with.

NumPy hands an operation over to the type of its arguments (`__array_ufunc__`,
`__array_function__`), and SciPy's special functions do the same. So what is computed of
each edge is written once, and runs where the edges are. Only what the judge asks for is
there. An operation that is not there is an error, and nothing moves to the CPU unseen.

Tested by tests/ops/test_device_array.py.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.lib.mixins import NDArrayOperatorsMixin
from torch import Tensor

Array = np.ndarray[Any, Any]

UFUNCS: dict[str, Callable[..., Any]] = {
    "absolute": torch.abs,
    "add": torch.add,
    "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or,
    "divide": torch.true_divide,
    "divmod": lambda a, b: (a // b, a % b),
    "equal": torch.eq,
    "exp": torch.exp,
    "expit": torch.special.expit,
    "floor_divide": torch.floor_divide,
    "greater": torch.gt,
    "greater_equal": torch.ge,
    "invert": torch.bitwise_not,
    "less": torch.lt,
    "less_equal": torch.le,
    "log": torch.log,
    "log1p": torch.log1p,
    "logit": torch.special.logit,
    "matmul": lambda a, b: a @ b.to(a.dtype),
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "multiply": torch.mul,
    "ndtr": torch.special.ndtr,
    "ndtri": torch.special.ndtri,
    "negative": torch.neg,
    "not_equal": torch.ne,
    "power": torch.pow,
    "remainder": torch.remainder,
    "sqrt": torch.sqrt,
    "square": torch.square,
    "subtract": lambda a, b: torch.sub(a, int(b) if isinstance(b, bool) else b),
}
"""NumPy's and SciPy's names of what works on each number."""
OF_TENSORS = "matmul", "maximum", "minimum"
"""Those of which torch takes no plain number."""


def torch_type(dtype: Any) -> torch.dtype:
    """The type of torch that has the numbers of a type of NumPy."""
    return torch.from_numpy(np.empty(0, dtype)).dtype


class DeviceArray(NDArrayOperatorsMixin):
    """The numbers of a tensor, as an array of NumPy.

    A single number, and sums along all rows, come back as those of NumPy.
    """

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """As in NumPy."""
        return tuple(self.tensor.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """As in NumPy."""
        return torch.empty(0, dtype=self.tensor.dtype).numpy().dtype

    @property
    def T(self) -> DeviceArray:  # NumPy's name
        """As in NumPy."""
        return DeviceArray(self.tensor.T)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.tensor)

    def __iter__(self) -> Iterator[Any]:
        """The rows."""
        return (self[place] for place in range(len(self)))

    def __getitem__(self, place: Any) -> Any:
        """As in NumPy; one number waits for the device."""
        found = self.tensor[self._places(place)]
        return DeviceArray(found) if found.dim() else found.item()

    def __setitem__(self, place: Any, value: Any) -> None:
        """As in NumPy."""
        if isinstance(value, np.ndarray | DeviceArray):
            value = self._tensor(value).to(self.tensor.dtype)
        self.tensor[self._places(place)] = value

    def __repr__(self) -> str:
        """One line: shape, type and device."""
        return f"DeviceArray({self.shape}, {self.dtype}, {self.tensor.device})"

    def astype(self, dtype: Any, copy: bool = True) -> DeviceArray:
        """As in NumPy."""
        return DeviceArray(self.tensor.to(torch_type(dtype), copy=copy))

    def clip(self, min: Any = None, max: Any = None) -> DeviceArray:
        """As in NumPy, between numbers."""
        return DeviceArray(self.tensor.clamp(min, max))

    def view(self, dtype: Any) -> DeviceArray:
        """As in NumPy."""
        return DeviceArray(self.tensor.view(torch_type(dtype)))

    def ravel(self) -> DeviceArray:
        """As in NumPy."""
        return DeviceArray(self.tensor.reshape(-1))

    def any(self) -> bool:
        """As in NumPy, of all numbers."""
        return bool(self.tensor.any())

    def sum(self, axis: int | None = None, dtype: Any = None) -> Any:
        """As in NumPy."""
        return self._summed(torch.sum, axis, dtype)

    def mean(self, axis: int | None = None, dtype: Any = float) -> Any:
        """As in NumPy, in float64."""
        return self._summed(torch.mean, axis, dtype)

    def _summed(
        self, total: Callable[..., Tensor], axis: int | None, dtype: Any
    ) -> Any:
        kind = None if dtype is None else torch_type(dtype)
        if kind is None and self.tensor.is_floating_point():
            kind = torch.float64
        if axis is not None:
            return DeviceArray(total(self.tensor, axis, dtype=kind))
        return total(self.tensor, dtype=kind).cpu().numpy()[()]

    def _tensor(self, value: Any) -> Tensor:
        """The numbers of an array on this device."""
        return on_device(value, self.tensor.device)

    def _places(self, place: Any) -> Any:
        if isinstance(place, tuple):
            return tuple(self._places(part) for part in place)
        if isinstance(place, np.ndarray | DeviceArray):
            found = self._tensor(place)
            return found if found.dtype in (torch.bool, torch.int64) else found.long()
        return place

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any
    ) -> Any:
        """What NumPy calls for a function of each number."""
        out, dtype = options.pop("out", None), options.pop("dtype", None)
        function = UFUNCS.get(ufunc.__name__)
        if method != "__call__" or options or function is None:
            return NotImplemented
        given = [
            self._tensor(part) if isinstance(part, np.ndarray | DeviceArray) else part
            for part in inputs
        ]
        if ufunc.__name__ in OF_TENSORS:
            given = [torch.as_tensor(p, device=self.tensor.device) for p in given]
        found = function(*given)
        if isinstance(found, tuple):
            return tuple(map(DeviceArray, found))
        if out is not None:
            out[0].tensor.copy_(found)
            return out[0]
        return DeviceArray(found if dtype is None else found.to(torch_type(dtype)))

    def __array_function__(
        self, function: Any, types: Any, args: Any, options: Any
    ) -> Any:
        """What NumPy calls for other functions."""
        found = FUNCTIONS.get(function.__name__)
        if found is None:
            return NotImplemented
        return found(*args, **options)


def on_device(value: Any, device: torch.device) -> Tensor:
    """The numbers of an array, on a device."""
    if isinstance(value, DeviceArray):
        return value.tensor
    if isinstance(value, np.ndarray) and value.size > 1 and not any(value.strides):
        # All the same number: one goes over.
        return (
            torch.as_tensor(value.flat[0].item(), device=device)
            .to(torch_type(value.dtype))
            .expand(value.shape)
        )
    return torch.from_numpy(np.ascontiguousarray(value)).to(device)


def host(value: Any) -> Array:
    """The numbers of an array of either kind, in memory."""
    if isinstance(value, DeviceArray):
        return np.asarray(value.tensor.cpu().numpy())
    return np.asarray(value)


def as_tensor(value: Any) -> Tensor:
    """The tensor with the numbers of an array of either kind, where they are."""
    return value.tensor if isinstance(value, DeviceArray) else torch.from_numpy(value)


def kernels(name: str, array: Any) -> Any:
    """The module of this name that computes where an array is.

    Imported when it is first used: Numba and Triton take long to load.
    """
    place = "gpu" if isinstance(array, DeviceArray) else "cpu"
    return importlib.import_module(f"sgat.ops.{place}.{name}")


def _all(arrays: Any) -> list[Tensor]:
    """The arrays where the first of them is that is on a device."""
    found = next(part for part in arrays if isinstance(part, DeviceArray))
    return [on_device(part, found.tensor.device) for part in arrays]


def _joined(join: Callable[..., Tensor]) -> Callable[..., DeviceArray]:
    def joined(arrays: Any, axis: int = 0, dtype: Any = None) -> DeviceArray:
        found = join(_all(arrays), axis)
        return DeviceArray(found if dtype is None else found.to(torch_type(dtype)))

    return joined


def _like(make: Callable[..., Tensor]) -> Callable[..., DeviceArray]:
    def made(array: DeviceArray, dtype: Any = None) -> DeviceArray:
        kind = array.tensor.dtype if dtype is None else torch_type(dtype)
        return DeviceArray(make(array.tensor, dtype=kind))

    return made


def _interp(x: DeviceArray, places: Array, heights: Array) -> DeviceArray:
    """Lines between heights at places, as straight beyond them."""
    at, height = (on_device(part, x.tensor.device) for part in (places, heights))
    value = x.tensor.double().clamp(places[0], places[-1])
    after = torch.searchsorted(at, value).clamp(1, len(at) - 1)
    low, high = at[after - 1], at[after]
    part = torch.where(high > low, (value - low) / (high - low), 0.0)
    return DeviceArray(height[after - 1] + part * (height[after] - height[after - 1]))


def _searchsorted(ordered: Any, value: Any, side: str = "left") -> DeviceArray:
    at, wanted = _all((ordered, value))
    at = at.to(wanted.dtype)
    return DeviceArray(torch.searchsorted(at, wanted.contiguous(), side=side))


def _quantile(array: DeviceArray, share: float, overwrite_input: bool = False) -> Any:
    """As NumPy's, of one share."""
    ordered = array.tensor.sort().values
    place = share * (len(ordered) - 1)
    low, high = ordered[int(place)], ordered[min(int(place) + 1, len(ordered) - 1)]
    return (low.double() + (place - int(place)) * (high - low).double()).item()


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "argsort": lambda a, **_: DeviceArray(a.tensor.argsort(stable=True)),
    "bincount": lambda a, minlength=0: host(
        DeviceArray(a.tensor.bincount(minlength=minlength))
    ),
    "concatenate": _joined(torch.cat),
    "cumsum": lambda a, dtype: DeviceArray(a.tensor.cumsum(0, dtype=torch_type(dtype))),
    "copy": lambda a: DeviceArray(a.tensor.clone()),
    "count_nonzero": lambda a: int(a.tensor.count_nonzero()),
    "einsum": lambda formula, *parts: DeviceArray(torch.einsum(formula, *_all(parts))),
    "flatnonzero": lambda a: DeviceArray(a.tensor.reshape(-1).nonzero().squeeze(1)),
    "interp": _interp,
    "ones_like": _like(torch.ones_like),
    "quantile": _quantile,
    "searchsorted": _searchsorted,
    "stack": _joined(torch.stack),
    "unique": lambda a: DeviceArray(a.tensor.unique()),
    "zeros_like": _like(torch.zeros_like),
}
"""NumPy's functions of whole arrays."""
