"""COMPILE: nodes of a placed graph become code: Python of whole segments, C of regions and clusters, CUDA."""
