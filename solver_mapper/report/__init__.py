"""What users read."""
