"""The border of the lowest elements, on a CPU, and on a GPU or in the interpreter."""

import itertools
from collections.abc import Callable

import pytest
import torch
from support.triton_device import DEVICE, gpu_test, needs_triton
from torch import Tensor

from sgat.ops.border import border

pytestmark = needs_triton
Select = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def by_digits(value: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
    from sgat.ops.gpu.border import border_by_digits

    return border_by_digits(value.to(DEVICE), place)


AWKWARD = {
    "one": [0.3],
    "all equal": [-1.5] * 7,
    "ties": [2.0, 2.0, 1.0, 3.0, 2.0, -0.0, 0.0, -1.0, -1.0],
    "negative": [-3.0, -1e-30, -1e30, -2.0, -1e-45],
    "wide": [1e-38, -1e38, 1e38, 0.0, 1e-45, -7.0, 5.0, torch.inf, -torch.inf],
    "close together": [1.0, 1.0 + 2**-23, 1.0 - 2**-24],
}


@pytest.mark.parametrize("select", [border, by_digits])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("case", [*AWKWARD, "random"])
def test_the_border_is_that_of_a_sort(
    case: str, dtype: torch.dtype, seed: int, select: Select
):
    value = torch.tensor(AWKWARD[case]) if case in AWKWARD else torch.randn(211) * 3
    value = value.to(dtype)
    ascending = [-torch.inf, *value.sort().values.tolist()]
    for place, wanted in enumerate(itertools.pairwise(ascending)):
        found = select(value, torch.tensor(place))
        assert [float(part) for part in found] == [*wanted], place
        assert {part.dtype for part in found} == {dtype}


@gpu_test
def test_the_border_of_many_elements_is_that_of_a_sort():
    value = torch.randn(20_000_003, device="cuda")
    place = torch.tensor(7_000_001, device="cuda")
    found = torch.stack(border(value, place))
    assert torch.equal(found, value.sort().values[7_000_000:7_000_002])
