"""The published rules of Orojenesis v2, searched exactly."""
