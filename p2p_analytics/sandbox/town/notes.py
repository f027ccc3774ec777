"""Notes of the simulated payments."""

from __future__ import annotations

from typing import Final

GROCERIES: Final = (
    "Groceries", "groceries 🛒", "Milk, eggs, bread", "Market run 🥕🥬", "Cat food 🐈", "toilet paper!!",
)  # fmt: skip
DINNERS: Final = (
    "Dinner 🍝", "Ramen 🍜", "Pizza 🍕 night", "Sushi", "Brunch, obviously 🥞", "Tacos 🌮🌮", "Birthday dinner 🎂",
)  # fmt: skip
CONCERTS: Final = ("Concert tickets 🎶", "Cinema", "Gym, this month", "Museum 🏛️")
FAVOURS: Final = (
    "Coffee ☕", "Gas ⛽", "Thanks!", "Lunch", "Cab 🚕", "Gift for Noor", "Plants 🌱", "Haircut", "Gym 💪", "🍻",
    "谢谢 🙏", "점심값 🍱", "شكراً",
)  # fmt: skip
TRIP: Final = ("Cabin 🏔️", "Ferry ⛴️", "Car rental", "Groceries for the cabin", "Ski passes ⛷️", "Road snacks", "Fuel ⛽")

# Notes of kinds that break spreadsheets, parsers or pages.
STRANGE: Final = (
    "👨‍👩‍👧‍👦 zoo day", "🏳️‍🌈🇯🇵🇧🇷 parade", 'Eggs, milk, and "the good" bread',
    "First line\nsecond line\n\nlast line", "=SUM(1)", "+1 for pizza", "-5 you owe me", "@channel beers",
    "$20 of $x^2$ homework", "<b>bold</b> & <script>alert(1)</script>", "שלום, תודה רבה!",
    "o'clock; DROP TABLE lunch; --", "semi;colon\tand tab", "e\u0301tude (decomposed é)",
    "👍🏽 you're the best 👩🏿‍🚀",
)  # fmt: skip
ALONE: Final = (
    "NA",
    "null",
    "0",
    " ",
    "🍕",
    "It all began when the car would not start, and ended with four of us in a kitchen at midnight, counting "
    "coins. " * 12,
)  # fmt: skip
