"""Several processes that train one model: each owns a range of the nodes."""
