"""Clusters: element-wise nodes compiled to one function."""
