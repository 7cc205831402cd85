"""Analyses of a step's graph that passes, placement, code generation and executors share."""
