from support.small_data import block_graph

from sgat import SGATClassifier


def test_a_bar_shows_what_goes_on(capsys):
    data = block_graph(num_nodes=61)
    settings = {"hidden": 5, "epochs": 3, "fast": True, "device": "cpu"}
    SGATClassifier(**settings, verbose=True).fit(data)
    assert "epoch 3/3, validation" in capsys.readouterr().out
    SGATClassifier(**settings).fit(data)
    assert capsys.readouterr().out == ""
