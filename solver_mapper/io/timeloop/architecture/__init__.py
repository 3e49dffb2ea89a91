"""Reading architectures of Timeloop, in its flat, tree and v0.4 forms, and their energies."""
