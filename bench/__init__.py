"""Benchmarks: the same program text under Penstock and TensorFlow, and the same models in other frameworks.

    python -m bench.run                                   # everything, five rounds
    python -m bench.run --quick                           # a first look, without torch.compile
    python -m bench.run --workloads empty_step --rounds 3
    python -m bench.worker penstock empty_step            # one process, with its traceback if it fails

`workloads/` holds the programs, `frameworks.py` says which function of a workload a framework runs,
`worker.py` is one measured process, and `run.py` alternates fresh workers and prints the table that
`report.py` makes.
"""
