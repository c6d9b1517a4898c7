"""The section on predictions: a confusion matrix, or a table of labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sgat.report.cards import section
from sgat.report.confusion import Confusion, LabelScore, confusion, label_scores
from sgat.report.markup import escape, name, percent
from sgat.scored import ScoredGraph

SHADES = 7


def prediction_section(scored: Sequence[ScoredGraph]) -> str:
    """The confusion matrix; for several labels, how well each is found."""
    if scored[0].data.is_multilabel:
        return section("predictions", "Labels", _label_table(*label_scores(scored)))
    return section("predictions", "Predictions", _matrix(confusion(scored)))


def _matrix(found: Confusion) -> str:
    total, right = int(found.counts.sum()), int(np.trace(found.counts))
    if not total:
        return '<div class="card"><p>There are no labelled nodes to judge by.</p></div>'
    names = [
        "<em>others</em>" if text is None else name(text, 18) for text in found.names
    ]
    if found.names[-1] is None:
        # Within "others" a wrong class cannot be told from the right one.
        right_text = f"{total:,} {found.nodes}"
    else:
        right_text = f"{right:,} of {total:,} {found.nodes} are right"
    head = "".join(f'<th scope="col">{text}</th>' for text in names)
    rows = []
    for row, text in enumerate(names):
        counts = found.counts[row]
        size = int(counts.sum())
        cells = "".join(
            f'<td class="h{round(SHADES * int(count) / max(size, 1))}'
            f'{" right" if row == column else ""}">{int(count):,}</td>'
            for column, count in enumerate(counts)
        )
        recall = percent(int(counts[row]) / size if size else None)
        rows.append(f'<tr><th scope="row">{text}</th>{cells}<td>{recall}</td></tr>')
    return (
        f'<div class="card"><h3>Confusion matrix</h3><p>{right_text}. Rows are the true'
        " classes, columns the predicted ones; the last column is the share of the row"
        f' that is right.</p><div class="scroll"><table class="matrix"><thead><tr>'
        f"<th>true \\ predicted</th>{head}<th>right</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div></div>"
    )


def _label_table(scores: Sequence[LabelScore], nodes: str) -> str:
    ordered = sorted(scores, key=lambda score: -score.support)
    rows = "".join(
        f'<tr><th scope="row">{name(score.name, 40)}</th><td>{score.support:,}</td>'
        f"<td>{percent(score.precision)}</td><td>{percent(score.recall)}</td>"
        f"<td>{percent(score.f1)}</td></tr>"
        for score in ordered
    )
    return (
        f'<div class="card"><h3>Each label</h3><p>On the {escape(nodes)}, the most'
        ' frequent label first.</p><div class="scroll"><table class="full"><thead><tr>'
        '<th scope="col">label</th><th scope="col">nodes</th>'
        '<th scope="col">precision</th><th scope="col">recall</th>'
        f'<th scope="col">F1</th></tr></thead><tbody>{rows}</tbody></table></div></div>'
    )
