"""Training simulated: many steps of many replicas, at the grain of what a replica computes, gets and gives.

`replica.py` describes a replica's step, `surroundings.py` what its data passes through. `servers.py`, `ring.py` and
`stages.py` are the ways to train, `noise.py` and `faults.py` what disturbs them.
"""
