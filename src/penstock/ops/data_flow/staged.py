"""What both kinds of staging area share: limits on elements and bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from penstock import errors
from penstock.ops.data_flow.lines import Shared

Values = Sequence[Any]

CONTAINER = ["container: string = ''", "shared_name: string = ''"]
ROOM = ["capacity: int >= 0 = 0", "memory_limit: int >= 0 = 0"]


class StagedValues(Shared):
    """Base of staging areas. A `capacity` or `memory_limit` of 0 means no limit."""

    kind = "staging area"

    def __init__(self, name: str, line: str, capacity: int, memory_limit: int) -> None:
        super().__init__(name, line)
        self.capacity, self.memory_limit = capacity, memory_limit
        self.bytes = 0

    def check_room(self, size: int) -> None:
        """Raises ResourceExhaustedError if `size` bytes can never fit."""
        if self.memory_limit and size > self.memory_limit:
            raise errors.ResourceExhaustedError(
                None,
                None,
                f"Attempted to insert tensors with combined size of '{size}' bytes into Staging Area with a memory "
                f"limit of '{self.memory_limit}'.",
            )

    def has_memory(self, size: int) -> bool:
        return not self.memory_limit or self.bytes + size <= self.memory_limit


def bytes_of(values: Values) -> int:
    """The size of values; strings count their characters."""
    return sum(
        value.numel() * value.element_size()
        if isinstance(value, torch.Tensor)
        else sum(map(len, value.reshape(-1).tolist()))
        for value in values
    )
