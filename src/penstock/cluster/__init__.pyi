# Written by `python -m penstock.api.generate`.
from penstock.cluster.launch.cluster import Cluster as Cluster
from penstock.cluster.launch.cluster import Task as Task
from penstock.cluster.launch.cluster import connect as connect
from penstock.cluster.launch.cluster import names as names
from penstock.cluster.launch.cluster import start as start

__all__ = [
    "Cluster", "Task", "connect", "names", "start"
]
