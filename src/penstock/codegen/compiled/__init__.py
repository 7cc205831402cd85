"""C functions that replace several nodes: what clusters and regions share."""
