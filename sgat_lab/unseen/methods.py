"""The methods of the table: peers in two forms on all edges or on judged ones, ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sgat_lab.unseen.peers import KINDS, Kind

OURS: dict[str, dict[str, Any]] = {"sgat": {}}
"""Our rows, and what `SGATClassifier` is given for them besides seed and device."""
OURS_TITLE = {"sgat": "SGATClassifier()"}


class PeerMethod(NamedTuple):
    """A peer in one form, on all edges or on those that the judge keeps."""

    kind: Kind
    is_strong: bool
    is_judged: bool

    @property
    def name(self) -> str:
        """Name in options and files."""
        form = "strong" if self.is_strong else "plain"
        return f"{self.kind}-{form}{'-judged' if self.is_judged else ''}"

    @property
    def title(self) -> str:
        """Name in a table."""
        return f"{KINDS[self.kind]}, {'strong' if self.is_strong else 'plain'}"


PEERS: dict[str, PeerMethod] = {
    method.name: method
    for is_judged in (False, True)
    for is_strong in (False, True)
    for kind in KINDS
    # An MLP has no edges to judge.
    if not (is_judged and kind == "mlp")
    for method in [PeerMethod(kind, is_strong, is_judged)]
}
"""All peers by name, those on all edges first."""
METHODS = (*PEERS, *OURS)


def choose_methods(given: Sequence[str]) -> list[str]:
    """Methods by their names, or by the names of their kinds; all without any.

    Raises:
        ValueError: If there is no such method or kind.
    """
    found = []
    for name in given or METHODS:
        of_kind = [full for full, peer in PEERS.items() if peer.kind == name]
        if name not in METHODS and not of_kind:
            known = ", ".join([*KINDS, *METHODS])
            raise ValueError(f"`methods` must be of {known}, got {name!r}.")
        found += of_kind or [name]
    return list(dict.fromkeys(found))
