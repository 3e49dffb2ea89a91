"""The mapspace as a CP-SAT model: compiling, solving, proving."""
