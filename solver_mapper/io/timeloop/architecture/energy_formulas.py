"""Timeloop's built-in energy formulas (PAT), used where the input gives no energies.

Source: the `pat-public` estimators of Timeloop v3.0.3, which interpolate published figures of the
Eyeriss chip. All figures are in pJ; wires, adders and areas cost nothing there.
"""

from __future__ import annotations

from fractions import Fraction

_SMALL_KB, _SMALL_PJ = Fraction(1, 2), Fraction(1)
_LARGE_KB, _LARGE_PJ = Fraction(100), Fraction(6)
_SLOPE = (_LARGE_PJ - _SMALL_PJ) / (_LARGE_KB - _SMALL_KB)


def dram_energy(bits: int) -> Fraction:
    """One access of `bits` bits to DRAM: 200 pJ for 16 bits."""
    return Fraction(200 * bits, 16)


def sram_energy(entries: int, word_bits: int, block_size: int, cluster_size: int) -> Fraction:
    """One vector access (one block) to one of `cluster_size` clustered SRAMs of `entries` words
    each.

    Linear in the capacity of the whole cluster, through 1 pJ at 0.5 KB and 6 pJ at 100 KB for 16
    bits, and in the width.
    """
    if entries == 0:
        return Fraction(0)
    width = word_bits * block_size * cluster_size
    height = -(-entries // block_size)
    kilobytes = Fraction(width * height, 8 * 1024)
    return (_SMALL_PJ + _SLOPE * (kilobytes - _SMALL_KB)) * Fraction(width, 16) / cluster_size


def multiplier_energy(word_bits: int) -> Fraction:
    """One multiplication of two `word_bits`-bit operands: 1 pJ for 16 bits, growing with the
    square.
    """
    return Fraction(word_bits, 16) ** 2
