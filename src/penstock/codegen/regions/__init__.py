"""Whole small steps in C: which nodes are compiled to one function (`regions.py`), and how it is written
(`writer.py`)."""
