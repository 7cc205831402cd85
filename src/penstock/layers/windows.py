"""What layers share that move windows over `rank` spatial dims: convolutions and pools."""

from __future__ import annotations

from typing import Any

from penstock.layers.base import Layer, channel_axis

FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


class Windows(Layer):
    """`padding` and `data_format` are in the layers' words, which programs read and pass on; ops have others."""

    rank = 2
    paddings: tuple[str, ...] = ("same", "valid")
    padding: Any
    data_format: Any

    def _set_windows(self, padding: str, data_format: str) -> None:
        """Keep the two arguments. Raises ValueError for values that there are not."""
        self.padding = padding.lower()
        if self.padding not in self.paddings:
            raise ValueError(f"padding must be {' or '.join(map(repr, self.paddings))}, got {padding!r}")
        channel_axis(data_format, self.rank + 2)
        self.data_format = data_format

    @property
    def _channels_at(self) -> int:
        """The axis of the channels."""
        return channel_axis(self.data_format, self.rank + 2)

    @property
    def _op_format(self) -> str:
        """The data format in the ops' words."""
        return FORMATS[self.rank][self.data_format == "channels_first"]

    @property
    def _op_padding(self) -> str:
        """The padding in the ops' words; inputs of causal convolutions are padded before."""
        return "VALID" if self.padding == "causal" else str(self.padding).upper()
