"""Records laid out: cells, tables, plots, and the document beside published numbers."""
