"""LoopTree: workloads of several Einsums, architectures and mappings that may fork, as AccelForge writes them."""
