import pytest
import torch

from sgat.data.synthetic import contextual_block_model
from sgat.data.synthetic.truth import class_features, class_means, generator_for


def test_streams_and_seeds_do_not_share_random_numbers():
    numbers = {
        (seed, stream): torch.rand(5, generator=generator_for(seed, stream)).tolist()
        for seed in (0, 1, 2**32, 2**32 + 1)
        for stream in (0, 1, 11)
    }
    assert len({tuple(drawn) for drawn in numbers.values()}) == 12
    again = torch.rand(5, generator=generator_for(2**32, 11)).tolist()
    assert again == numbers[2**32, 11]


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError) as error:
        generator_for(-1, 0)
    assert str(error.value) == "`seed` must be at least 0, got -1."


def test_features_are_the_class_mean_plus_the_same_noise_at_any_signal():
    y = torch.arange(7) % 3
    noise = class_features(y, 3, 5, 0.0, seed=2)
    mean = class_features(y, 3, 5, 2.0, seed=2) - noise  # [7, 5]
    torch.testing.assert_close(mean.norm(dim=1), torch.full((7,), 2.0))
    torch.testing.assert_close(mean[:3], mean[3:6])
    torch.testing.assert_close(mean, class_means(3, 5, 2.0, seed=2)[y])
    assert (mean[0] - mean[1]).norm() > 0.1


def test_data_move_to_another_device_as_a_whole():
    made = contextual_block_model(num_nodes=23, degree=2).to("meta")
    assert made.is_signal.device.type == made.data.graph.device.type == "meta"
