"""Readers: ops that take file names off a queue and give the records of the files."""
