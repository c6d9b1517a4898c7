"""Spark, where it and Java are installed."""

import os
import shutil

import pytest


def need_spark(*, whole_module: bool = False) -> None:
    """Skip the test, or the whole module, where Spark cannot run."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed", allow_module_level=whole_module)
