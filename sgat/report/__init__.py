"""The report of a run: one HTML file with charts and a graph to look around in."""

from __future__ import annotations

from sgat.report.build import Report, write_report

__all__ = ["Report", "write_report"]
