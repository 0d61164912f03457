//! What a host does while it loads: cores, cards, connections, disks, and pressure on them.
