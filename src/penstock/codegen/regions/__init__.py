"""Whole small steps in C: which nodes become one function (`regions.py`), and how it is written (`writer.py`)."""
