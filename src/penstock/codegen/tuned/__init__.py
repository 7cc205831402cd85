"""Kernels of single ops, written once, and raced against torch's."""
