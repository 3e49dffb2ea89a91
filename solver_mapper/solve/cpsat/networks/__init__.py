"""What words cost on their way, as lower bounds: networks, and neighbours that pass words on."""
