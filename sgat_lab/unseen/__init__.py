"""Classifiers on graphs that nobody tuned them for, ours and its peers."""
