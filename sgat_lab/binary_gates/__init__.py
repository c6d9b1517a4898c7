"""Binary gates (eq. 11): the paper's other four estimators of the gradient by them."""
