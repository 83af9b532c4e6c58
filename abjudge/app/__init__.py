"""What is done with the nouns: roles, fairness, retries, and one comparison from prompt to Outcome."""
