import pytest
import torch

from sgat.data import check
from sgat_lab.synthetic.ppi_shaped import ppi_shaped

SCALE = 0.061


@pytest.fixture(scope="module")
def graphs():
    return ppi_shaped(scale=SCALE)


def neighbour_mean(made, keep):
    graph, x = made.data.graph, made.data.x
    dst, src = graph.dst[keep].long(), graph.src[keep].long()
    count = dst.bincount(minlength=len(x)).clamp(min=1).unsqueeze(1)
    return torch.zeros_like(x).index_add(0, dst, x[src]) / count


def test_each_graph_is_undirected_without_loops_or_duplicates(graphs):
    for made in graphs:
        graph = made.data.graph
        dst, src = graph.dst.long(), graph.src.long()
        assert (dst != src).all()
        assert ((dst * graph.num_nodes + src).diff() > 0).all()
        assert graph.is_undirected
        assert torch.equal(made.is_signal[graph.by_source.edge], made.is_signal)


def test_there_are_24_graphs_with_121_labels_of_which_20_train(graphs):
    data = [made.data for made in graphs]
    check(data)
    assert len(data) == 24
    for role, count in [("train", 20), ("val", 2), ("test", 2)]:
        masks = [getattr(d, role) for d in data]
        assert sum(bool(mask.all()) for mask in masks) == count
        assert sum(bool(mask.any()) for mask in masks) == count
    for d in data:
        assert d.x.shape == (d.num_nodes, 50)
        assert d.y.shape == (d.num_nodes, 121)
        assert d.y.dtype == torch.float32
    assert len({d.name for d in data}) == 24
    assert sum(d.num_nodes for d in data) == round(56_944 * SCALE)
    assert min(d.num_nodes for d in data) * 2.5 < max(d.num_nodes for d in data)


def test_at_full_size_the_counts_are_those_of_ppi():
    graphs = ppi_shaped(num_graphs=3)
    assert sum(made.data.num_nodes for made in graphs) == 7118
    assert sum(made.data.graph.num_edges for made in graphs) == 198_408
    degree = torch.cat([made.data.graph.row_ptr.diff() for made in graphs]).double()
    assert degree.max() > 5 * degree.mean()


def test_shares_of_the_labels_run_from_a_tenth_to_six_tenths(graphs):
    share = torch.cat([made.data.y for made in graphs]).mean(dim=0)
    torch.testing.assert_close(share, torch.linspace(0.1, 0.6, 121), atol=0.005, rtol=0)


@pytest.mark.parametrize("noise_rate", [0.0, 0.37, 0.9, 1.0])
def test_the_noise_rate_is_the_one_asked_for(noise_rate):
    graphs = ppi_shaped(num_graphs=3, scale=0.1, noise_rate=noise_rate)
    noise = torch.cat([~made.is_signal for made in graphs]).double().mean()
    assert float(noise) == pytest.approx(noise_rate, abs=0.01)


def test_labels_are_in_the_neighbourhood_and_noise_edges_blur_it(graphs):
    def accuracy(features):
        parts = {}
        for role in ("train", "test"):
            chosen = [m for m in graphs if getattr(m.data, role).all()]
            x = torch.cat([features(made) for made in chosen])
            x = torch.cat([x, torch.ones(len(x), 1)], dim=1)
            parts[role] = x, torch.cat([made.data.y for made in chosen])
        weight = torch.linalg.lstsq(*parts["train"]).solution
        x, y = parts["test"]
        return float(((x @ weight > 0.5) == (y > 0.5)).double().mean())

    def with_neighbours(keep):
        return lambda made: torch.cat(
            [made.data.x, neighbour_mean(made, keep(made))], dim=1
        )

    alone = accuracy(lambda made: made.data.x)
    everyone = accuracy(with_neighbours(lambda made: made.is_signal | True))
    signal = accuracy(with_neighbours(lambda made: made.is_signal))
    assert alone + 0.05 < everyone
    assert everyone + 0.02 < signal
    assert signal > 0.9


def test_the_same_seed_gives_the_same_data_and_another_seed_does_not():
    one, two, other = (ppi_shaped(num_graphs=3, scale=SCALE, seed=s) for s in (2, 2, 3))
    for a, b in zip(one, two, strict=True):
        assert torch.equal(a.data.graph.src, b.data.graph.src)
        assert torch.equal(a.data.x, b.data.x)
        assert torch.equal(a.data.y, b.data.y)
    assert one[0].data.graph.num_nodes != other[0].data.graph.num_nodes or (
        not torch.equal(one[0].data.x, other[0].data.x)
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"num_graphs": 2}, "`num_graphs` must be at least 3, got 2."),
        (
            {"scale": 0.001},
            "`scale` must give 10 nodes per graph, that is, be at least 0.0042,"
            " got 0.001.",
        ),
        ({"noise_rate": -0.1}, "`noise_rate` must be from 0 to 1, got -0.1."),
    ],
)
def test_bad_arguments_are_named(options, sentence):
    with pytest.raises(ValueError) as error:
        ppi_shaped(**options)
    assert str(error.value) == sentence


@pytest.mark.gpu
def test_the_graphs_are_drawn_on_a_gpu_repeatably():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    one, two = (ppi_shaped(num_graphs=5, device="cuda") for _ in range(2))
    for a, b in zip(one, two, strict=True):
        assert a.data.x.device.type == a.data.graph.device.type == "cuda"
        assert torch.equal(a.data.graph.src, b.data.graph.src)
        assert torch.equal(a.data.x, b.data.x)
        assert torch.equal(a.data.y, b.data.y)
