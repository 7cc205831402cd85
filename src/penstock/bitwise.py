"""Bits of integers (TF: tf.bitwise): each function is written where its op is, and listed here."""

from __future__ import annotations

from penstock import absent as _absent
from penstock.ops.bitwise import (
    bitwise_and as bitwise_and,
    bitwise_or as bitwise_or,
    bitwise_xor as bitwise_xor,
    invert as invert,
    left_shift as left_shift,
    right_shift as right_shift,
)

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"]

_absent.tell_in(__name__)
