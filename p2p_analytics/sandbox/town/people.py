"""Invented people of the town, with names of kinds that break real software."""

from __future__ import annotations

import random
from typing import Final

from p2p_analytics.sandbox.domain.test_user import DAY_US
from p2p_analytics.sandbox.storage.rows import Person

# The first people of every town, whatever its seed. Two share a display name, three names are Arabic, Chinese and
# Korean, one starts with an underscore, and one profile is a business: no field marks it, only its display name is not
# made of first and last name. Username, first name, last name, display name, bio.
_FIXED: Final = (
    ("maya-lindqvist", "Maya", "Lindqvist", "Maya Lindqvist", "Splits everything. Sourdough and bikes."),
    ("noor-haddad", "Noor", "Haddad", "Noor Haddad", "The lease is in my name"),
    ("tom-ohara", "Tom", "O'Hara", "Tom O'Hara", ""),
    ("sam-rivera", "Sam", "Rivera", "Sam Rivera", "No, the other one"),
    ("sam-rivera-2", "Sam", "Rivera", "Sam Rivera", ""),
    ("layla-mansour", "ليلى", "منصور", "ليلى منصور", "مهندسة"),
    ("kai_", "_kai", "", "_kai", " "),
    ("zoe-nunez", "Zoë", "Müller-Núñez", "Zoë Müller-Núñez", "🧗‍♀️ > 🏢"),
    ("bean-and-leaf", "Bean & Leaf", "", "Bean & Leaf Café", "Coffee <3 tea. Open daily!"),
    ("priya-nair", "Priya", "Nair", "Priya Nair 🌻", 'She/her, "always early"'),
    ("wang-fang", "芳", "王", "王芳", "$5 says I'm late"),
    ("kim-minji", "민지", "김", "김민지", "커피와 등산"),
)  # fmt: skip
BUSINESS: Final = 8
UNVERIFIED: Final = ("kai_",)  # users without a verified identity, so that this refusal occurs
FIRST_NAMES: Final = (
    "Ada", "Bilal", "Carmen", "Dmitri", "Elif", "Femi", "Grace", "Hugo", "Ines", "Jonas", "Keiko", "Lars",
    "Mina", "Nils", "Olga", "Pedro", "Quinn", "Rosa", "Sefa", "Tara", "Umar", "Vera", "Wes", "Ximena", "Yara", "Zeno",
)  # fmt: skip
LAST_NAMES: Final = (
    "Abbot", "Bakker", "Castillo", "Demir", "Eriksen", "Farkas", "Gallo", "Hoang", "Ibarra", "Jansen", "Kowalski",
    "Laurent", "Moreau", "Ng", "Olsen", "Petrov", "Quispe", "Rossi", "Silva", "Tanaka", "Usman", "Vargas", "Wong",
)  # fmt: skip
_FOREIGN_SHARE: Final = 0.15
# Username, first name, last name and display name, which begins with the family name in Chinese and Korean.
FOREIGN_NAMES: Final = (
    ("li-na", "娜", "李", "李娜"),
    ("zhang-wei", "伟", "张", "张伟"),
    ("chen-jing", "静", "陈", "陈静"),
    ("ouyang-ming", "明", "欧阳", "欧阳明"),
    ("lee-seojun", "서준", "이", "이서준"),
    ("park-jiwoo", "지우", "박", "박지우"),
    ("choi-haeun", "하은", "최", "최하은"),
    ("omar-najjar", "عمر", "النجار", "عمر النجار"),
    ("salma-khoury", "سلمى", "خوري", "سلمى خوري"),
    ("yusuf-alawi", "يوسف", "العلوي", "يوسف العلوي"),
)
_ABOUT: Final = ("", "", "Happy to help", "Runner.", "🍜", "Somewhere between the gym and the bakery", "No Short Bio")


def make_residents(rng: random.Random, count: int, start_us: int) -> list[Person]:
    """Return `count` people who joined before `start_us`, the fixed ones first, with their opening balances."""
    profiles = list(_FIXED[:count])
    for number in range(len(profiles), count):
        if rng.random() < _FOREIGN_SHARE:
            username, first, last, display_name = rng.choice(FOREIGN_NAMES)
        else:
            first, last = rng.choice(FIRST_NAMES), rng.choice(LAST_NAMES)
            username, display_name = f"{first}-{last}".lower(), f"{first} {last}"
        profiles.append((f"{username}-{number}", first, last, display_name, rng.choice(_ABOUT)))
    people: dict[int, Person] = {}
    for number, (username, first, last, display_name, about) in enumerate(profiles):
        # Ids of 18 and 19 digits, and a short one now and then.
        low, high = (10**17, 10**18) if number % 3 == 2 else (10**18, 4 * 10**18)  # noqa: PLR2004 - every third
        if number % 12 == 10:  # noqa: PLR2004 - one in twelve
            low, high = 10_000, 1_000_000
        while (user_id := rng.randrange(low, high)) in people:
            pass
        people[user_id] = Person(
            user_id=user_id,
            username=username,
            first_name=first,
            last_name=last,
            display_name=display_name,
            about=about,
            profile_picture_url=f"https://pictures.example.invalid/{username}.png",
            joined_us=start_us - rng.randrange(30, 900) * DAY_US + rng.randrange(86_400) * 1_000_000,
            email=f"{username}@example.com",
            phone=f"1555{2_000_000 + number:07d}",
            balance_cents=rng.randrange(2_000, 20_000),
        )
    return list(people.values())
