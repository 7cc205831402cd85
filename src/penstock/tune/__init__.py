"""Searching for hyperparameters, as in "Practical Bayesian Optimization of Machine Learning Algorithms" (2012)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
