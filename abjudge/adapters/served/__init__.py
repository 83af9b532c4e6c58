"""Models that a server answers for, at home or at a provider's: one HTTP request a call, read wire by wire."""
