"""The lab: the paper's tables and figures, its rivals, and the search for settings."""
