"""Clusters: element-wise nodes that become one compiled function."""
