"""COMPILE: turns nodes of a placed graph into code: Python for whole segments, C for regions and clusters, CUDA."""
