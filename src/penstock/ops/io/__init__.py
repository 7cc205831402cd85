"""Readers: ops that take file names from a queue and return the records of the files."""
