"""PLAN: how training would go on more machines than there are, from a program and a description of hardware."""
