"""YAML as a tree that remembers file, line and column; typed fields; arithmetic expressions."""
