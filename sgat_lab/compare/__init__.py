"""Was learning worth it? Ways to choose edges, all at the same share of them."""
