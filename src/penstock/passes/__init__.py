"""PRUNE and OPTIMISE: passes, each graph in, graph out."""
