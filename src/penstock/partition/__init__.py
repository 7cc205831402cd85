"""PARTITION: one graph for each device, with Send and Recv where tensors cross (white paper section 3.2.2)."""
