"""Our classifier with nothing chosen on many graphs, beside peers that are searched."""
