"""The world: models, scaffolds, files, ledgers, a person at the terminal. Faults become the error tree here."""
