"""The kernel of the gate pass compiles for a GPU, which no interpreter can show."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from support.triton_device import needs_triton

pytestmark = needs_triton[:1]

COMPILE = """
import sys

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from sgat.ops.gpu.gates import GATE_BLOCK, PAIR_BLOCKS, open_rows_kernel
from sgat.ops.gpu.records import shape_of


def check(real, rank):
    kernel = open_rows_kernel
    integers = "column entry open_column open_edge filled whole"
    types = {"p_" + name: "*i32" for name in integers.split()}
    types |= {f"p_{name}": "*i64" for name in ("bound", "row", "piece_partial", "seed")}
    reals = "row_score column_score gate scaled total probability slope"
    word, width = ("*i32", 2) if real == "*fp32" else (real, 1)
    dtype = torch.float32 if real == "*fp32" else torch.float64
    if rank:
        reals += " vector_slope vector_partial"
        types |= {"p_row_record": word, "p_column_record": word}
    types |= {"p_" + name: real for name in reals.split()}
    options = {"TEMPERATURE": 0.66, "GAMMA": -0.1, "ZETA": 1.1, "THRESHOLD": -1.6}
    options |= {"PLACES": True}
    options |= {"RANK": rank, "HALVES": width, "SLOPES": rank > 0}
    lanes, words = shape_of(rank, dtype) if rank else (1, 4)
    block = PAIR_BLOCKS[lanes] if rank else GATE_BLOCK
    options |= {"LANES": lanes, "WORDS": words, "BLOCK": block}
    options |= {"FOLD": block * lanes // 32}
    names = kernel.arg_names
    source = ASTSource(
        fn=kernel,
        signature={name: types.get(name, "constexpr") for name in names},
        constexprs={
            (k,): options.get(name) for k, name in enumerate(names) if name not in types
        },
        # As the launcher finds the pointers.
        attrs={
            (k,): [["tt.divisibility", 16]]
            for k, name in enumerate(names)
            if name in types
        },
    )
    target = GPUTarget("cuda", 90, 32)
    compiled = triton.compile(source, target=target, options={"num_warps": 1})
    ptx = compiled.asm["ptx"]
    wide = ptx.count("ld.global.v4") + ptx.count("ld.global.v2")
    print(ptx.count("lg2.approx"), wide)


for case in sys.argv[1:]:
    real, rank = case.split()
    check("*" + real, int(rank))
"""


# In a process of its own: one that interprets kernels cannot compile them.
# Once the gate pass of float64 was interpreted well and did not compile.
@pytest.mark.parametrize(
    "cases",
    [
        (("fp32", 16), ("fp64", 0)),
        # These repeat what those above show.
        pytest.param((("fp32", 0), ("fp64", 16)), marks=pytest.mark.slow),
    ],
)
def test_the_gate_pass_compiles_and_is_quick_in_single_precision(
    cases: tuple[tuple[str, int], ...],
) -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "0"}
    result = subprocess.run(
        [sys.executable, "-c", COMPILE, *(f"{real} {rank}" for real, rank in cases)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    for (real, rank), line in zip(cases, lines, strict=True):
        num_logarithms, num_wide_reads = map(int, line.split())
        assert (num_logarithms > 0) == (real == "fp32")
        # Vectors of nodes are read 16 bytes at a time.
        assert (num_wide_reads > 0) == (rank > 0)
