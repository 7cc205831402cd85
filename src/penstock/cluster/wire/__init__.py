"""Connections between the tasks of a cluster: authenticated, either side may call, values travel without copies.

An `Endpoint` is what a process has on the wire, a `Peer` one connection to another. Nothing here knows of graphs.
"""
