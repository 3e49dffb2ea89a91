"""The search over imperfect factors: loops whose last rounds may be shorter."""
