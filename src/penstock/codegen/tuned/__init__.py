"""Hand-written kernels of single ops, autotuned against torch's."""
