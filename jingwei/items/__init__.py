"""Context items: what a request may say besides its history, and in which order of worth (rules S1 to S5)."""
