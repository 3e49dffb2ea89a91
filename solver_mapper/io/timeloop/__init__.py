"""Files in the notation of Timeloop."""
