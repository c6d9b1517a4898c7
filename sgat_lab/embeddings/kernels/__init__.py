"""The loops of the embeddings in Numba; imported where they run, and only there."""
