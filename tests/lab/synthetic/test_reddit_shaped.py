import subprocess
import sys
from pathlib import Path

import pytest
import torch

from sgat.data import check
from sgat_lab.synthetic.reddit_shaped import NUM_EDGES, NUM_NODES, reddit_shaped

SCALE = 0.0093


@pytest.fixture(scope="module", params=[0, 2**33 + 1])
def made(request):
    return reddit_shaped(scale=SCALE, seed=request.param)


def degrees(made):
    return made.data.graph.row_ptr.diff()


def test_the_graph_is_undirected_without_loops_or_duplicates(made):
    graph = made.data.graph
    dst, src = graph.dst.long(), graph.src.long()
    assert (dst != src).all()
    assert ((dst * graph.num_nodes + src).diff() > 0).all()
    assert graph.is_undirected
    assert graph.dst.dtype == graph.src.dtype == torch.int32
    assert torch.equal(graph.row_ptr[1:], dst.bincount(minlength=2167).cumsum(0))


def test_the_data_have_the_shape_of_reddit(made):
    data = made.data
    assert data.num_nodes == round(NUM_NODES * SCALE) == 2167
    assert data.x.shape == (2167, 602)
    assert data.x.dtype == torch.float32
    assert data.num_classes == 41
    check([data])
    shares = [float(mask.double().mean()) for mask in (data.train, data.val, data.test)]
    assert shares == pytest.approx([0.66, 0.10, 0.24], abs=0.001)


def test_signal_edges_are_those_inside_a_class_and_as_many_as_asked_for(made):
    data = made.data
    same = data.y[data.graph.dst.long()] == data.y[data.graph.src.long()]
    assert torch.equal(made.is_signal, same)
    assert float(same.double().mean()) == pytest.approx(0.81, abs=1e-4)


def test_classes_are_of_very_different_size_and_nodes_in_no_order(made):
    sizes = made.data.y.bincount(minlength=41)
    assert (sizes.diff() <= 1).all()
    assert sizes[0] > 15 * sizes[-1] > 0
    assert (made.data.y.diff() != 0).double().mean() > 0.8


def test_degrees_have_a_heavy_tail(made):
    degree = degrees(made).double()
    assert degree.max() > 8 * degree.mean()
    assert degree.median() < 0.7 * degree.mean()


def test_features_tell_classes_apart_only_with_signal():
    def accuracy(signal):
        data = reddit_shaped(scale=SCALE, feature_signal=signal).data
        train = data.train
        mean = torch.stack(
            [data.x[train & (data.y == c)].mean(dim=0) for c in range(5)]
        )
        test = data.test & (data.y < 5)
        nearest = torch.cdist(data.x[test], mean).argmin(dim=1)
        return float((nearest == data.y[test]).double().mean())

    assert accuracy(9.0) > 0.8
    assert accuracy(0.0) < 0.5


def test_leaving_out_the_features_changes_nothing_else():
    full, bare = (reddit_shaped(scale=SCALE, features=f) for f in (True, False))
    assert bare.data.x.shape == (2167, 0)
    assert torch.equal(full.data.graph.src, bare.data.graph.src)
    assert torch.equal(full.data.y, bare.data.y)
    assert torch.equal(full.is_signal, bare.is_signal)


def test_the_same_seed_gives_the_same_data_and_another_seed_does_not():
    one, two, other = (reddit_shaped(scale=SCALE, seed=s) for s in (4, 4, 5))
    assert torch.equal(one.data.graph.src, two.data.graph.src)
    assert torch.equal(one.data.graph.dst, two.data.graph.dst)
    assert torch.equal(one.data.x, two.data.x)
    assert torch.equal(one.data.test, two.data.test)
    assert not torch.equal(one.data.graph.src, other.data.graph.src)
    assert not torch.equal(one.data.x, other.data.x)


@pytest.mark.parametrize("homophily", [0.0, 0.3, 1.0])
def test_any_homophily_can_be_asked_for(homophily):
    made = reddit_shaped(scale=0.002, homophily=homophily, num_features=3)
    assert float(made.is_signal.double().mean()) == pytest.approx(homophily, abs=1e-3)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"scale": 0.001},
            "`scale` must give at least 328 nodes, that is, be at least 0.0014,"
            " got 0.001.",
        ),
        ({"homophily": 1.1}, "`homophily` must be from 0 to 1, got 1.1."),
        ({"seed": -3, "scale": 0.01}, "`seed` must be at least 0, got -3."),
    ],
)
def test_bad_arguments_are_named(options, sentence):
    with pytest.raises(ValueError) as error:
        reddit_shaped(**options)
    assert str(error.value) == sentence


@pytest.mark.slow
def test_an_eighth_of_reddit_has_its_degrees_and_fits_in_little_memory():
    if not Path("/proc/self/status").exists():
        pytest.skip("the peak memory of a process is read from /proc")
    # In a process of its own, whose peak is not that of the other tests.
    program = """
import re
from pathlib import Path
from sgat_lab.synthetic.reddit_shaped import reddit_shaped
data = reddit_shaped(scale=0.125).data
degree = data.graph.row_ptr.diff()
status = Path("/proc/self/status").read_text()
peak = re.search("VmHWM: *([0-9]+) kB", status.replace("\\t", " ")).group(1)
print(data.num_nodes, data.graph.num_edges, int(degree.max()), peak)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    num_nodes, num_edges, largest, peak = map(int, done.stdout.split())
    assert num_nodes == round(NUM_NODES / 8)
    assert num_edges == 2 * round(NUM_EDGES / 16)
    assert 3000 < largest < 10000
    # An eighth of the 12 GiB of the full size; the libraries take 0.3 GiB of it.
    assert peak < 1.5 * 2**20


@pytest.mark.gpu
def test_the_full_size_is_drawn_on_a_gpu_repeatably():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    made = reddit_shaped(device="cuda")
    data = made.data
    assert data.graph.device.type == data.x.device.type == "cuda"
    assert data.num_nodes == NUM_NODES
    assert data.graph.num_edges == NUM_EDGES
    assert float(made.is_signal.double().mean()) == pytest.approx(0.81, abs=1e-4)
    key = data.graph.dst.long() * NUM_NODES + data.graph.src
    assert (key.diff() > 0).all()
    assert (data.graph.dst != data.graph.src).all()
    assert 5000 < int(degrees(made).max()) < 10000
    again = reddit_shaped(device="cuda", features=False)
    assert torch.equal(again.data.graph.src, data.graph.src)
    assert torch.equal(again.is_signal, made.is_signal)
