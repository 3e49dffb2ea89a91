"""What every question returns: answers, their figures, and how they are shown."""
