"""Compiles the kernels of the judge for a GPU that need not be there; prints failures.

python tests/support/compiled_kernels.py, without TRITON_INTERPRET. Its interpreter
knows no types of loops, so that a kernel may pass all tests there and not compile.
"""

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from sgat.ops.gpu import border, common_neighbours, pair_products, tree_scores

PAIR = {"p_a": "*i32", "p_b": "*i32", "number": "i32", "width": "i32"}
ROWS = {"p_ptr": "*i32", "p_column": "*i32", "p_entry": "*fp32", "width": "i32"}
BLOCKS = {"BLOCK": 32, "BLOCK_K": 32}
KERNELS = [
    (
        common_neighbours.row_products_kernel,
        {**ROWS, **PAIR, "p_value": "*fp32", "p_total": "*fp32", **more},
        {"NUM_PRODUCTS": 2, "WIDTH": 4, "BLOCK": 128},
    )
    for more in (
        {},
        {"p_ptr": "*i64", "p_column": "*i64"},
        {"p_entry": "*i32", "p_weight": "*fp32"},
    )
]
KERNELS += [
    (
        common_neighbours.find_entries_kernel,
        {"p_ptr": "*i32", "p_columns": "*i32", "p_row": kind, "p_column": kind}
        | {"p_place": "*i64", "number": "i32"},
        {"BLOCK": 256},
    )
    for kind in ("*i32", "*i64")
]
KERNELS += [
    (
        common_neighbours.row_sums_kernel,
        {**ROWS, "p_x": "*fp32", "p_out": "*fp32"},
        {"WIDTH": 64, "BLOCK": 16},
    ),
    (
        pair_products.pair_products_kernel,
        PAIR | {f"p_{name}": "*fp32" for name in ("left", "right", "scale", "found")},
        BLOCKS,
    ),
    (
        pair_products.mean_products_kernel,
        {**PAIR, "p_out_a": "*i32", "p_out_b": "*i32"}
        | {f"p_{name}": "*fp64" for name in ("strength", "lost_a", "lost_b")}
        | {f"p_{name}": "*fp32" for name in ("u", "total", "found")},
        BLOCKS,
    ),
    (
        tree_scores.tree_scores_kernel,
        {"p_signals": "*fp32", "p_part": "*u8", "p_cuts": "*fp32", "p_reach": "*i32"}
        | {"p_value": "*fp64", "p_score": "*fp64", "number": "i32"}
        | {"num_signals": "i32", "num_words": "i32"},
        {"BLOCK": 128, "WORDS": 16},
    ),
]
for sign in (31, 63):
    kind = f"*i{sign + 1}"
    value = {"p_value": kind, "p_found": kind, "number": "i32"}
    block = {"SIGN": sign, "BLOCK": 4096}
    shift = {"SHIFT": 8, **block}
    KERNELS += [
        (border.count_digits_kernel, {**value, "p_count": "*i64"}, shift),
        (border.largest_below_kernel, {**value, "p_most": kind}, block),
    ]

for kernel, types, constants in KERNELS:
    names = kernel.arg_names
    signature = {name: types.get(name, "constexpr") for name in names}
    missing = dict.fromkeys(name for name in names if signature[name] == "constexpr")
    fixed = {(names.index(n),): constants.get(n) for n in missing}
    source = ASTSource(fn=kernel, signature=signature, constexprs=fixed)
    triton.compile(source, target=GPUTarget("cuda", 90, 32))
print(len(KERNELS), "kernels compiled")
