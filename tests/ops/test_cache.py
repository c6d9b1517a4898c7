"""Results that are kept as long as the memory of a tensor lives."""

from __future__ import annotations

import pytest
import torch

from sgat.ops.cache import Kept


def test_a_result_is_found_by_its_tensor_and_by_aliases_of_it() -> None:
    kept, tensor = Kept(), torch.arange(6)
    kept.set(tensor, "result")
    assert kept.get(tensor) == "result"
    assert kept.get(tensor.detach()) == "result"
    assert len(kept) == 1


@pytest.mark.parametrize(
    "other",
    [
        lambda tensor: tensor.clone(),
        lambda tensor: tensor[:5],
        lambda tensor: tensor[1:],
        lambda tensor: tensor.view(2, 3),
        lambda tensor: tensor.view(torch.float64),
    ],
    ids=["copy", "shorter", "later", "shape", "type"],
)
def test_other_tensors_have_results_of_their_own(other) -> None:
    kept, tensor = Kept(), torch.arange(6)
    kept.set(tensor, "result")
    assert kept.get(other(tensor)) is None


def test_tensors_without_elements_are_told_apart() -> None:
    kept, tensor = Kept(), torch.empty(0)
    kept.set(tensor, "result")
    assert kept.get(torch.empty(0)) is None


def test_a_result_goes_with_the_memory() -> None:
    kept, tensor = Kept(), torch.arange(6)
    kept.set(tensor, "result")
    alias = tensor.detach()
    del tensor
    assert kept.get(alias) == "result"
    del alias
    assert len(kept) == 0
