"""The border between the lowest elements and the others on a GPU: digit by digit."""

import torch
import triton
import triton.language as tl
from torch import Tensor

# Bits of a digit, values of a digit, and elements of a program.
BITS, DIGITS, BLOCK = tl.constexpr(8), tl.constexpr(256), 4096


@triton.jit
def ordered_bits(p_value, o_value, m_value, SIGN: tl.constexpr):
    """The bits of floats as integers in the order of the floats.

    That is so once those of negative ones are flipped.
    """
    b_bits = tl.load(p_value + o_value, mask=m_value, other=0)
    return b_bits ^ ((b_bits >> SIGN) & ((1 << SIGN) - 1))


@triton.jit
def count_digits_kernel(
    p_value,
    p_found,
    p_count,
    number,
    SHIFT: tl.constexpr,
    SIGN: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """How often each digit follows the digits found; one program, BLOCK elements."""
    o_value = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m_value = o_value < number
    b_key = ordered_bits(p_value, o_value, m_value, SIGN)
    if SHIFT + BITS <= SIGN:
        found = tl.load(p_found)
        m_value = m_value & ((b_key >> (SHIFT + BITS)) == (found >> (SHIFT + BITS)))
    b_digit = ((b_key >> SHIFT) & (DIGITS - 1)).to(tl.int32)
    # Elements that do not count are counted as the first digit, and taken back.
    b_digit = tl.where(m_value, b_digit, 0)
    o_digit = tl.arange(0, DIGITS)
    b_count = tl.histogram(b_digit, DIGITS)
    b_count -= tl.where(o_digit == 0, BLOCK - tl.sum(m_value.to(tl.int32), 0), 0)
    tl.atomic_add(p_count + o_digit, b_count.to(tl.int64), mask=b_count != 0)


@triton.jit
def largest_below_kernel(
    p_value, p_found, p_most, number, SIGN: tl.constexpr, BLOCK: tl.constexpr
):
    """The largest key below the one found; one program, BLOCK elements."""
    o_value = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m_value = o_value < number
    b_key = ordered_bits(p_value, o_value, m_value, SIGN)
    found = tl.load(p_found)
    least = tl.full([], -1, b_key.dtype) << SIGN
    b_below = tl.where(m_value & (b_key < found), b_key, least)
    tl.atomic_max(p_most, tl.max(b_below, 0))


def border_by_digits(value: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
    """As `sgat.ops.border.border`, by a count of the digits of the elements.

    The first digit is that of the sign, so its values from 128 on come first.
    """
    wide = value.dtype == torch.float64
    kind, sign = (torch.int64, 63) if wide else (torch.int32, 31)
    bits = value.detach().contiguous().view(kind)
    grid = (triton.cdiv(len(bits), BLOCK),)
    found = torch.zeros((), dtype=kind, device=value.device)
    left = place.to(value.device, torch.int64)
    for shift in range(sign + 1 - BITS.value, -1, -BITS.value):
        count = torch.zeros(DIGITS.value, dtype=torch.int64, device=value.device)
        count_digits_kernel[grid](
            p_value=bits,
            p_found=found,
            p_count=count,
            number=len(bits),
            SHIFT=shift,
            SIGN=sign,
            BLOCK=BLOCK,
            num_warps=8,
        )
        turn = DIGITS.value // 2 if shift + BITS.value > sign else 0
        upto = count.roll(turn).cumsum(0)
        digit = (upto <= left).sum()
        # Not upto[…]: an index of no dimension is fetched from the GPU.
        before = torch.where(digit > 0, upto.take((digit - 1).clamp(min=0)), 0)
        left = left - before
        found = found + ((digit - turn) << shift).to(kind)
    most = torch.full((), -1 << sign, dtype=kind, device=value.device)
    largest_below_kernel[grid](
        p_value=bits,
        p_found=found,
        p_most=most,
        number=len(bits),
        SIGN=sign,
        BLOCK=BLOCK,
        num_warps=8,
    )
    at, below = (
        (key ^ ((key >> sign) & ((1 << sign) - 1))).view(value.dtype)
        for key in (found, most)
    )
    # Others that are equal may come before the one at the place.
    is_first = most == -1 << sign
    below = torch.where(is_first, torch.full_like(below, -torch.inf), below)
    return torch.where(left > 0, at, below), at
