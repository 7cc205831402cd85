"""Estimators whose models are given: linear models, networks, both together, and baselines; and the heads of models."""
