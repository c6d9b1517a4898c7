"""The paper's tables and figures, one file each, with the paper's numbers alongside."""
