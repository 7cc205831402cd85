"""Functions in C that stand for several nodes: what clusters and regions have in common."""
