"""Reading and writing files: one package a notation."""
