"""A bench for placement: graphs, hardware, strategies, bounds.

    python -m bench.placement                       # one table: every graph, strategy and hardware
    python -m bench.placement --graphs lstm,towers --hardware four --strategies greedy,single

Nothing is run: the simulator says how long a placed step would take. `graphs.py` builds the steps with the public API,
`machines.py` describes hardware, `strategies.py` has what the product is compared with, `bounds.py` what no placement
can beat.
"""
