"""YAML as trees that remember positions."""
