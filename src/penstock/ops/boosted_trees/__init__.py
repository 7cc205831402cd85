"""Ops that grow gradient boosted trees and predict with them (TF: boosted_trees_ops)."""
