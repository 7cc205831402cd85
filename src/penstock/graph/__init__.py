"""Graph construction: op definitions, nodes, names, devices and the GraphDef codec."""
