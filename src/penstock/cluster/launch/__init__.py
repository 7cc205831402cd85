"""Clusters that are started by name: their tasks' processes, what keeps them running, and how programs find them."""
