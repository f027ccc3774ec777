"""Pieces that plots share: style, fonts, foreign text, sums of what has no row of its own, and image bytes."""
