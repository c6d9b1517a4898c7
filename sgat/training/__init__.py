"""Training: the loop, an epoch, the edge budget, gate gradients, checkpoints."""
