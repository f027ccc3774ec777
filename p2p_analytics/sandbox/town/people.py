"""Invented people of the town, with names of kinds that break real software."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final, NamedTuple

from p2p_analytics.sandbox.domain.test_user import DAY_US
from p2p_analytics.sandbox.storage.rows import Person


class _Profile(NamedTuple):
    """Names and bio of a person."""

    username: str
    first_name: str
    last_name: str
    display_name: str
    about: str


# The first people of every town, whatever its seed. Two share a display name, three names are Arabic, Chinese and
# Korean, one starts with an underscore, and one profile is a business: no field marks it, only its display name is not
# made of first and last name.
_FIXED: Final = (
    _Profile("maya-lindqvist", "Maya", "Lindqvist", "Maya Lindqvist", "Splits everything. Sourdough and bikes."),
    _Profile("noor-haddad", "Noor", "Haddad", "Noor Haddad", "The lease is in my name"),
    _Profile("tom-ohara", "Tom", "O'Hara", "Tom O'Hara", ""),
    _Profile("sam-rivera", "Sam", "Rivera", "Sam Rivera", "No, the other one"),
    _Profile("sam-rivera-2", "Sam", "Rivera", "Sam Rivera", ""),
    _Profile("layla-mansour", "ليلى", "منصور", "ليلى منصور", "مهندسة"),
    _Profile("kai_", "_kai", "", "_kai", " "),
    _Profile("zoe-nunez", "Zoë", "Müller-Núñez", "Zoë Müller-Núñez", "🧗‍♀️ > 🏢"),
    _Profile("bean-and-leaf", "Bean & Leaf", "", "Bean & Leaf Café", "Coffee <3 tea. Open daily!"),
    _Profile("priya-nair", "Priya", "Nair", "Priya Nair 🌻", 'She/her, "always early"'),
    _Profile("wang-fang", "芳", "王", "王芳", "$5 says I'm late"),
    _Profile("kim-minji", "민지", "김", "김민지", "커피와 등산"),
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
        profiles.append(_Profile(f"{username}-{number}", first, last, display_name, rng.choice(_ABOUT)))
    ids = _draw_ids(rng)
    return [
        Person(
            user_id=next(ids),
            username=one.username,
            first_name=one.first_name,
            last_name=one.last_name,
            display_name=one.display_name,
            about=one.about,
            profile_picture_url=f"https://pictures.example.invalid/{one.username}.png",
            joined_us=start_us - rng.randrange(30, 900) * DAY_US + rng.randrange(86_400) * 1_000_000,
            email=f"{one.username}@example.com",
            phone=f"1555{2_000_000 + number:07d}",
            balance_cents=rng.randrange(2_000, 20_000),
        )
        for number, one in enumerate(profiles)
    ]


def _draw_ids(rng: random.Random) -> Iterator[int]:
    """Yield distinct ids of 18 and 19 digits, and a short one now and then."""
    seen: set[int] = set()
    while True:
        kind = len(seen) % 12
        if kind == 10:  # noqa: PLR2004 - one in twelve
            number = rng.randrange(10_000, 1_000_000)
        elif kind % 3 == 2:  # noqa: PLR2004 - every third
            number = rng.randrange(10**17, 10**18)
        else:
            number = rng.randrange(10**18, 4 * 10**18)
        if number not in seen:
            seen.add(number)
            yield number
