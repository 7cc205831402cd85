"""What an edge of a graph carries: element types and static shapes."""
