"""PRUNE and OPTIMISE: passes, each a function from graph to graph."""
