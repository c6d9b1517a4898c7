"""What to know about an experiment's numbers: misses against the paper, and causes."""

from __future__ import annotations

NOTES: dict[str, tuple[str, ...]] = {}
"""Sentences by the name of the experiment; `docs/log.md` has what was tried."""
