"""Training on a cluster in which everything goes wrong, and that ends as if nothing had.

- `program.py` trains; its steps say what the variables are after them.
- `injected.py` runs in all processes, and brings about faults when messages are sent.
- `chances.py` draws faults: when, what, to whom.
- `stage.py` has faults happen; `harness.py` runs cluster and program, and checks what must hold after each.
- `between.py` is a program that is started once for each task, `between_run.py` what runs and checks it.
- `run.py` is the long test (`make chaos`); `test_chaos.py` is a short one.
"""
