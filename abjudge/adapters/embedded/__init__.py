"""Small models inside this process: their catalogue, the store that fetches and checks them, and the calls."""
