"""Files of records: TFRecords, lines of text and fixed-length records, by path or URL."""

from penstock.records.fixed import FixedLengthRecords
from penstock.records.lines import TextLines
from penstock.records.source import Position, RecordSource
from penstock.records.tfrecord import TFRecords

__all__ = ["FixedLengthRecords", "Position", "RecordSource", "TFRecords", "TextLines"]
