"""The invented people of the town, with the kinds of names that real software stumbles over."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final, NamedTuple

from p2p_analytics.sandbox.domain.test_user import DAY_US
from p2p_analytics.sandbox.storage.rows import Person

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator


class _Known(NamedTuple):
    """A person who lives in every town, whatever its seed."""

    username: str
    first_name: str
    last_name: str
    display_name: str
    about: str


# Two share a display name, one is written from right to left, one starts with an underscore, one is a business.
_KNOWN: Final = (
    _Known("maya-lindqvist", "Maya", "Lindqvist", "Maya Lindqvist", "Splits everything. Sourdough and bikes."),
    _Known("noor-haddad", "Noor", "Haddad", "Noor Haddad", "The lease is in my name"),
    _Known("tom-ohara", "Tom", "O'Hara", "Tom O'Hara", ""),
    _Known("sam-rivera", "Sam", "Rivera", "Sam Rivera", "No, the other one"),
    _Known("sam-rivera-2", "Sam", "Rivera", "Sam Rivera", ""),
    _Known("layla-mansour", "ليلى", "منصور", "ليلى منصور", "مهندسة"),
    _Known("kai_", "_kai", "", "_kai", " "),
    _Known("zoe-nunez", "Zoë", "Müller-Núñez", "Zoë Müller-Núñez", "🧗‍♀️ > 🏢"),
    _Known("bean-and-leaf", "Bean & Leaf", "", "Bean & Leaf Café", "Coffee <3 tea. Open daily!"),
    _Known("priya-nair", "Priya", "Nair", "Priya Nair 🌻", 'She/her, "always early"'),
    _Known("chidi-okafor", "Chidi", "Okafor", "Chidi Okafor", ""),
    _Known("hana-sato", "Hana", "Sato", "Hana Sato", "$5 says I'm late"),
)  # fmt: skip
BUSINESS: Final = 8
UNVERIFIED: Final = ("kai_",)  # whose identity nobody has verified, so that there is somebody who is told so
_FIRST: Final = (
    "Ada", "Bilal", "Carmen", "Dmitri", "Elif", "Femi", "Grace", "Hugo", "Ines", "Jonas", "Keiko", "Lars",
    "Mina", "Nils", "Olga", "Pedro", "Quinn", "Rosa", "Sefa", "Tara", "Umar", "Vera", "Wes", "Ximena", "Yara", "Zeno",
)  # fmt: skip
_LAST: Final = (
    "Abbot", "Bakker", "Castillo", "Demir", "Eriksen", "Farkas", "Gallo", "Hoang", "Ibarra", "Jansen", "Kowalski",
    "Laurent", "Moreau", "Ng", "Olsen", "Petrov", "Quispe", "Rossi", "Silva", "Tanaka", "Usman", "Vargas", "Wong",
)  # fmt: skip
_ABOUT: Final = ("", "", "Happy to help", "Runner.", "🍜", "Somewhere between the gym and the bakery", "No Short Bio")


def residents(rng: random.Random, count: int, start_us: int) -> list[Person]:
    """Return `count` people who joined before `start_us`; the known ones come first, balances are an opening one."""
    known = list(_KNOWN[:count])
    for number in range(len(known), count):
        first, last = rng.choice(_FIRST), rng.choice(_LAST)
        known.append(
            _Known(f"{_plain(first)}-{_plain(last)}-{number}", first, last, f"{first} {last}", rng.choice(_ABOUT))
        )
    ids = _ids(rng)
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
        for number, one in enumerate(known)
    ]


def _ids(rng: random.Random) -> Iterator[int]:
    """Yield ids of 18 and 19 digits, and now and then an old short one; never the same twice."""
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


def _plain(name: str) -> str:
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", ascii_name.lower()).strip("-")
