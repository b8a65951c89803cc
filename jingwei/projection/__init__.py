"""Floor 3: events become messages: the projection (P), diagnosis (B10), admission (B2)."""
