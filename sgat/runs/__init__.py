"""Runs: from what a user asks to a folder of results, and what opens it again."""
