from sgat.data.karate import load_karate


def test_karate_is_the_papers_toy():
    data = load_karate()
    assert (data.num_nodes, data.graph.num_edges) == (34, 156)
    assert data.train.nonzero().squeeze(1).tolist() == [0, 33]
    assert int(data.test.sum()) == 32
    assert data.classes == ("Mr. Hi", "Officer")
    assert data.graph.weight is None and data.graph.is_undirected
