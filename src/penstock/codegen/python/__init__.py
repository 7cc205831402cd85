"""Segments: nodes, and structured control flow among them, as one generated Python function."""
