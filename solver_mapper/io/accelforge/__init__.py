"""LoopTree as AccelForge writes it: architectures, workloads, mapping trees."""
