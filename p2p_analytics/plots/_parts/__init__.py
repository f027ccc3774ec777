"""Pieces that plots share: style, fonts, foreign text, sums of rows that are not shown, and image bytes."""
