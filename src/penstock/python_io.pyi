# Written by `python -m penstock.api.generate`.
from penstock.records.writer import TFRecordCompressionType as TFRecordCompressionType
from penstock.records.writer import TFRecordOptions as TFRecordOptions
from penstock.records.writer import TFRecordWriter as TFRecordWriter
from penstock.records.writer import tf_record_iterator as tf_record_iterator

__all__ = [
    "TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"
]
