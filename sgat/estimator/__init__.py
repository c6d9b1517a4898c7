"""SGATClassifier, in the manner of scikit-learn."""

from sgat.estimator.classifier import SGATClassifier, load

__all__ = ["SGATClassifier", "load"]
