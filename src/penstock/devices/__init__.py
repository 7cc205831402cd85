"""DEVICES: what nodes run on (white paper section 3): names, memory, and launching kernels."""
