# Written by `python -m penstock.api.generate`.
from penstock.keras.preprocessing.sequence.padding import pad_sequences as pad_sequences
from penstock.keras.preprocessing.sequence.samples import TimeseriesGenerator as TimeseriesGenerator
from penstock.keras.preprocessing.sequence.samples import make_sampling_table as make_sampling_table
from penstock.keras.preprocessing.sequence.samples import skipgrams as skipgrams

__all__ = [
    "pad_sequences", "TimeseriesGenerator", "make_sampling_table", "skipgrams"
]
