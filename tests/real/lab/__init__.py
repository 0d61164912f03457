"""Real servers on loopback, foreign clients that look at them, and the checks made with both."""
