"""What passes, placement, code generation and executors all ask of the graph of a step."""
