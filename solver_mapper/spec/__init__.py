"""What the user wrote, as frozen records that remember file and line."""
