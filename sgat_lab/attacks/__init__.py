"""Attacks: graphs with wrong edges, what the judge finds there, and accuracy."""
