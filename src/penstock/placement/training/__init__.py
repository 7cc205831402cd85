"""Training simulated: many steps of many replicas, at the grain of what a replica computes, gets and gives.

`work.py` describes a replica's step, `cluster.py` what its data passes through. `servers.py`, `ring.py` and
`pipeline.py` are the ways to train, `noise.py` and `faults.py` what disturbs them.
"""
