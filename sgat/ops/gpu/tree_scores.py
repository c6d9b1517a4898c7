"""Sums of leaves of boosted trees, found by bits instead of by branches, on a GPU."""

from typing import Any

import torch
import triton
import triton.language as tl

from sgat.ops.device_array import DeviceArray, on_device

# Rows of a program.
ROWS = 128
LEVELS, TREES_IN_WORD = tl.constexpr(64), tl.constexpr(4)
NO_LEAF = tl.constexpr(256)


@triton.jit
def tree_scores_kernel(
    p_signals,
    p_part,
    p_cuts,
    p_reach,
    p_value,
    p_score,
    number,
    num_signals,
    num_words,
    BLOCK: tl.constexpr,
    WORDS: tl.constexpr,
):
    """score_p = Σ_t value of the leaf of tree t that is open; one program, BLOCK rows.

    A word of `reach` has the leaves of four trees, a byte each.
    """
    o_row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m_row = o_row < number
    b_trees = tl.load(p_part + o_row, mask=m_row, other=0).to(tl.int32)
    o_word = tl.arange(0, WORDS)
    m_word = (o_word < num_words)[None, :]
    b_open = tl.full([BLOCK, WORDS], -1, tl.int32)
    for k in range(num_signals):
        b_signal = tl.load(p_signals + o_row * num_signals + k, mask=m_row, other=0)
        o_signal = b_trees * num_signals + k
        b_level = tl.zeros([BLOCK], tl.int32)
        step = LEVELS // 2
        while step > 0:
            p_cut = p_cuts + o_signal * (LEVELS - 1) + b_level + step - 1
            b_level += tl.where(tl.load(p_cut) < b_signal, step, 0)
            step = step // 2
        p_word = p_reach + ((o_signal * LEVELS + b_level) * num_words)[:, None]
        b_open &= tl.load(p_word + o_word[None, :], mask=m_word, other=0)
    b_score = tl.zeros([BLOCK], tl.float64)
    for place in tl.static_range(TREES_IN_WORD):
        b_leaf = (b_open >> (8 * place)) & (NO_LEAF - 1)
        o_tree = b_trees[:, None] * (TREES_IN_WORD * num_words)
        o_tree += TREES_IN_WORD * o_word[None, :] + place
        p_leaf = p_value + o_tree * NO_LEAF + b_leaf
        b_score += tl.sum(tl.load(p_leaf, mask=m_word, other=0), 1)
    tl.store(p_score + o_row, b_score, mask=m_row)


def tree_scores(signals: Any, part: Any, cuts: Any, reach: Any, value: Any) -> Any:
    """As `sgat.ops.tree_scores.tree_scores`."""
    given = signals.tensor.contiguous()
    number, num_signals = given.shape
    words = on_device(reach, given.device).view(torch.int32)
    score = given.new_empty(number, dtype=torch.float64)
    if number:
        tree_scores_kernel[(triton.cdiv(number, ROWS),)](
            p_signals=given,
            p_part=on_device(part, given.device),
            p_cuts=on_device(cuts, given.device),
            p_reach=words,
            p_value=on_device(value, given.device),
            p_score=score,
            number=number,
            num_signals=num_signals,
            num_words=words.shape[3],
            BLOCK=ROWS,
            WORDS=triton.next_power_of_2(words.shape[3]),
            num_warps=4,
        )
    return DeviceArray(score)
