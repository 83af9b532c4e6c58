"""Tables of prompts, pairs and labels on disk: read strictly, checked whole, streamed."""
