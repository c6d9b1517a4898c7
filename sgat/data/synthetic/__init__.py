"""Made graphs of which the truth is known, and noise put into real graphs."""

from sgat.data.synthetic.block_model import SyntheticData, contextual_block_model
from sgat.data.synthetic.injection import Injected, inject

__all__ = ["Injected", "SyntheticData", "contextual_block_model", "inject"]
