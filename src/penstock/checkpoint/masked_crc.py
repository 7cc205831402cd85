"""Checksums as TensorFlow stores them: data that contains checksums of its parts would have weak ones otherwise."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

Crc = TypeVar("Crc", int, np.ndarray)

_MASK = 0xA282EAD8


def masked(crc: Crc) -> Crc:
    """What is stored of a CRC-32C, or of an array of them (uint32)."""
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF


def unmasked(stored: int) -> int:
    rotated = (stored - _MASK) & 0xFFFFFFFF
    return (rotated >> 17 | rotated << 15) & 0xFFFFFFFF
