"""Floor 5: from a history and a plan to the request after each number of steps (rules B3, R1, R4 to R6)."""
