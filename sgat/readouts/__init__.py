"""Read-outs: from what layers compute to class scores, one per file."""
