"""Kernels compile for a GPU, on machines without one, too."""

import os
import subprocess
import sys
from pathlib import Path

from support.triton_device import needs_triton

pytestmark = needs_triton[0]
SCRIPT = Path(__file__).parents[2] / "support/compiled_kernels.py"


def test_the_kernels_of_the_judge_compile_for_a_gpu(tmp_path: Path):
    usual = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(SCRIPT)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
        env={**usual, "TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": "."},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == "13 kernels compiled"
