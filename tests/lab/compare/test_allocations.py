import torch
import torch.nn.functional as F

from sgat_lab.compare.allocations import Allocations

KB = 1024


def floats(kilobytes: int) -> int:
    """How many float32 numbers take so much."""
    return kilobytes * KB // 4


def test_what_is_alive_at_a_time_counts():
    with Allocations() as seen:
        kept = torch.ones(floats(40))
        for _ in range(5):
            torch.zeros(floats(100))
        assert seen.peak == 140 * KB
        both = kept + kept
    assert seen.peak == 140 * KB and len(both)


def test_views_and_writing_in_place_take_nothing():
    with Allocations() as seen:
        x = torch.ones(floats(40))
        x.view(-1, 2).t()[0].add_(1)
        x.mul_(2)
        assert seen.peak == 40 * KB


def test_what_was_there_before_is_not_counted():
    x = torch.ones(floats(400))
    with Allocations() as seen:
        half = x[: floats(200)]
        assert seen.peak == 0
        total = half.sum()
    assert 0 < seen.peak < KB and total == floats(200)


def test_the_peak_can_be_set_back():
    with Allocations() as seen:
        torch.zeros(floats(100))
        seen.peak = 0
        kept = torch.zeros(floats(8))
    assert seen.peak == 8 * KB and len(kept)


def test_a_network_needs_what_its_layers_make():
    x, weight = torch.ones(64, 16), torch.ones(128, 16)
    with torch.no_grad(), Allocations() as seen:
        out = F.relu(F.linear(x, weight))
    # The product and the rectified product are alive together.
    assert seen.peak == 2 * out.numel() * 4
