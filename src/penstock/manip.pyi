# Written by `python -m penstock.api.generate`.
from penstock.ops.array import reshape as reshape
from penstock.ops.array_more import roll as roll
from penstock.ops.gather_nd import gather_nd as gather_nd
from penstock.ops.gather_nd import scatter_nd as scatter_nd
from penstock.ops.reversing import reverse as reverse
from penstock.ops.reversing import tile as tile
from penstock.ops.space import batch_to_space_nd as batch_to_space_nd
from penstock.ops.space import space_to_batch_nd as space_to_batch_nd

__all__ = [
    "reshape", "roll", "gather_nd", "scatter_nd", "reverse", "tile", "batch_to_space_nd", "space_to_batch_nd"
]
