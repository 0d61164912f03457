"""manometer and its peers against the same server, in turn, per client CPU-second."""
