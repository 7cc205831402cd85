# Written by `python -m penstock.api.generate`.
from penstock.client.queues import FIFOQueue as FIFOQueue
from penstock.client.queues import PaddingFIFOQueue as PaddingFIFOQueue
from penstock.client.queues import PriorityQueue as PriorityQueue
from penstock.client.queues import QueueBase as QueueBase
from penstock.client.queues import RandomShuffleQueue as RandomShuffleQueue

__all__ = [
    "FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue"
]
