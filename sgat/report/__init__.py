"""The report of a run: one HTML file with charts and a graph to look around in."""
