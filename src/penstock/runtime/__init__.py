"""EXECUTE: plans made once per signature, and what they run on."""
