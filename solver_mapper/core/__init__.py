"""What all parts speak: specifications, mappings, constraints, objectives, statistics and results.
Of the other parts it
imports the reading of YAML (`io/yaml`, `io/templates`), whose positions its records keep.
"""
