import pytest
import torch
from torch.autograd import gradcheck

from sgat_lab.unseen.attention import AttentionEdges, attend, cpu


def given(num_nodes=11, num_edges=37, heads=2, width=3, dtype=torch.float64):
    torch.manual_seed(0)
    edges = AttentionEdges.of(torch.randint(num_nodes, (2, num_edges)), num_nodes)
    shapes = [(num_nodes, heads, width), (num_nodes, heads), (num_nodes, heads)]
    numbers = [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]
    kept = (torch.rand(num_edges, heads) < 0.7).to(dtype) / 0.7
    return numbers, edges, kept


def test_shares_worked_out_by_hand():
    # Node 2 hears 0 with score 1 and 1 with score -5, of which LeakyReLU leaves -1.
    edges = AttentionEdges.of(torch.tensor([[0, 1], [2, 2]]), 3)
    x = torch.tensor([[[1.0]], [[3.0]], [[0.0]]])
    src_score, dst_score = torch.tensor([[1.0], [-5.0], [0.0]]), torch.zeros(3, 1)
    out = attend(x, src_score, dst_score, edges)
    share = 1 / (1 + torch.tensor(-2.0).exp())
    torch.testing.assert_close(out[2, 0, 0], share + 3 * (1 - share))
    assert out[:2].eq(0).all()


@pytest.mark.parametrize("with_products", [False, True])
@pytest.mark.parametrize("drops", [False, True])
def test_gradients_are_those_of_small_steps(with_products, drops):
    numbers, edges, kept = given()
    options = {"kept": kept if drops else None, "with_products": with_products}
    assert gradcheck(lambda *them: attend(*them, edges, **options), numbers)


def test_several_threads_give_the_same(monkeypatch):
    numbers, edges, kept = given(num_nodes=97, num_edges=911)

    def found():
        out = attend(*numbers, edges, kept=kept, with_products=True)
        return [out, *torch.autograd.grad(out.square().sum(), numbers)]

    one = found()
    monkeypatch.setattr(cpu, "SERIAL_WORK", 0)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    assert all(torch.equal(*pair) for pair in zip(one, found(), strict=True))


def test_large_scores_stay_finite():
    numbers, edges, _ = given(dtype=torch.float32)
    x, src_score, dst_score = numbers
    out = attend(x * 100, src_score * 1e4, dst_score, edges, with_products=True)
    assert out.isfinite().all()


def test_a_gpu_needs_triton(monkeypatch):
    numbers, edges, _ = given()
    monkeypatch.setattr("sgat_lab.unseen.attention.operation.HAS_TRITON", False)
    with pytest.raises(ValueError, match="needs Triton, which is not installed"):
        attend(*numbers, edges, backend="gpu")
