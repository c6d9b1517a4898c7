"""Fitting: the parameters of a model with the least loss.

Tested by tests/judging/test_shares.py.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

Array = np.ndarray[Any, Any]

STEPS = 60


def minimise(
    loss: Callable[[Array], tuple[float, Array]],
    start: Array,
    *,
    gain: float = 2.220446049250313e-09,
) -> Array:
    """Parameters with the least loss; `loss` gives its value and its slope.

    A step that lowers the loss by less than `gain` of it is the last one.
    """
    options = {"maxiter": STEPS, "ftol": gain, "gtol": min(1e-5, 1e4 * gain)}
    found: Array = minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x
    return found
