"""DEVICES: what nodes run on (white paper section 3): their names, memory and kernels' launching."""
