import pytest

from sgat.config import ModelConfig
from sgat.runs.notes import kept_note, readout_note, weak_note


@pytest.mark.parametrize(
    ("keep", "removed", "edges", "told"),
    [
        (0.3, 0.5, 1000, "50.0% of the edges are kept, not 30.0%: edges whose scores"),
        (0.3, 0.69, 1000, None),
        (0.25, 0.7, 10, None),
        (None, 0.5, 1000, None),
        (0.3, 0.0, 0, None),
    ],
)
def test_a_share_that_is_missed_is_told(keep, removed, edges, told):
    notes = kept_note({"keep": keep, "removed_share": removed, "edges": edges})
    assert len(notes) == (told is not None)
    assert told is None or notes[0].startswith(told)


@pytest.mark.parametrize(
    ("keep", "gate", "is_told"),
    [(0.3, 0.24, True), (0.3, 0.25, False), (None, 0.1, False), (0.3, None, False)],
)
def test_kept_edges_that_are_nearly_closed_are_told(keep, gate, is_told):
    notes = weak_note({"keep": keep, "mean_gate": gate})
    assert len(notes) == is_told
    assert not is_told or "mean gate of 0.24, so their gates" in notes[0]


@pytest.mark.parametrize(
    ("readout", "layers", "is_told"),
    [("auto", 0, True), ("auto", 2, False), ("beliefs", 0, False)],
)
def test_nodes_without_messages_are_told_unless_asked_for(readout, layers, is_told):
    asked = ModelConfig(readout=readout)
    notes = readout_note(asked, ModelConfig(readout="beliefs", layers=layers))
    assert len(notes) == is_told
    assert not is_told or "the features of each node alone" in notes[0]
