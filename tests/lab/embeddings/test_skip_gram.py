"""Skip-gram: one step against autograd, and vectors of nodes with like contexts."""

import numpy as np
import torch
from torch.nn.functional import logsigmoid

from sgat_lab.embeddings.kernels.skip_gram import read_walks
from sgat_lab.embeddings.skip_gram import noise_table, skip_gram


def test_one_step_descends_the_loss_of_the_paper(seed):
    draw = np.random.default_rng(seed)
    inner, outer = draw.standard_normal((2, 3, 2))
    moved = inner.copy(), outer.copy()
    # Two nodes in a walk: each is the other's context. Negatives are always node 2.
    walks, noise = np.array([[0, 1]], np.int32), np.array([2], np.int32)
    rates, rng = np.array([1e-4, 1e-4]), np.random.default_rng(seed)
    read_walks(walks, np.array([0]), *moved, noise, 1, 3, rates, rng)

    x, y = (torch.tensor(v, requires_grad=True) for v in (inner, outer))
    loss = 0
    for u, v in ((0, 1), (1, 0)):
        loss = loss - logsigmoid(x[u] @ y[v]) - 3 * logsigmoid(-x[u] @ y[2])
    loss.backward()
    np.testing.assert_allclose(moved[0], inner - 1e-4 * x.grad.numpy(), atol=1e-6)
    np.testing.assert_allclose(moved[1], outer - 1e-4 * y.grad.numpy(), atol=1e-6)
    assert (moved[0][:2] != inner[:2]).all()


def test_nodes_with_like_contexts_are_close(seed):
    rng = np.random.default_rng(seed)
    # Walks stay among 0 to 9 or among 10 to 19.
    half = rng.integers(2, size=(300, 1))
    walks = (rng.integers(10, size=(300, 40)) + 10 * half).astype(np.int32)
    places = skip_gram(walks, 20, rng, passes=3)
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    assert apart[:10, :10].mean() < 0.3 * apart[:10, 10:].mean()
    assert apart[10:, 10:].mean() < 0.3 * apart[:10, 10:].mean()


def test_negatives_are_drawn_by_frequency_to_the_power_of_three_quarters():
    counts = np.bincount(noise_table(np.array([1, 16, 81, 0])), minlength=4)
    # 1 : 8 : 27 of 80 entries.
    np.testing.assert_allclose(counts, [80 / 36, 640 / 36, 2160 / 36, 0], atol=1)


def test_nodes_in_no_walk_do_not_move(seed):
    walks = np.array([[0, 1, 0, 1]], np.int32)
    first = np.random.default_rng(seed).uniform(-0.25, 0.25, (3, 2))
    places = skip_gram(walks, 3, np.random.default_rng(seed), passes=2)
    assert (places[2] == first[2]).all()
    assert (places[:2] != first[:2]).all()
