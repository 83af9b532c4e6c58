"""The nouns of a comparison and their laws: frozen, closed values and pure functions on them."""
