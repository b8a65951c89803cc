"""Floor 3: events become messages. The projection (P), its diagnosis (B10), admission of foreign ones (B2)."""
