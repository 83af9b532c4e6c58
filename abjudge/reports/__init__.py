"""Outcomes as text. Nothing here calls anything, so every report can be built again."""
