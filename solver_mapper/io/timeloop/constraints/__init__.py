"""Reading constraints of Timeloop and its front end, and those that Timeloop does not have."""
