# Written by `python -m penstock.api.generate`.
from penstock.estimator.inputs.numpy_io import numpy_input_fn as numpy_input_fn
from penstock.estimator.inputs.pandas_io import pandas_input_fn as pandas_input_fn

__all__ = [
    "numpy_input_fn", "pandas_input_fn"
]
