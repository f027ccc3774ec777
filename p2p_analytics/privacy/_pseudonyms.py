"""Pseudonyms for names, ids, addresses, notes and amounts, and the user's key that they are derived from.

Under one key, equal texts have equal pseudonyms, which cannot be computed without the key: pseudonyms are a keyed
hash (BLAKE2b), written as words and digits.

Amounts are multiplied by one secret factor and then changed by keyed noise. Without noise the factor could be
computed, because most amounts between people are whole units: only the true factor turns the masked amounts back into
whole units. The noise has two parts, and both are needed:

- One per payment, so that equal amounts do not stay equal and single amounts cannot be computed. It is relatively
  larger for small amounts, because neighbouring small amounts differ by more than a few percent.
- One per amount, shared by all payments of that amount, so that the mean of many equal payments, such as a rent, is
  not the exact amount times the factor.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from p2p_analytics import settings
from p2p_analytics.errors import ConfigurationError, describe_os_error
from p2p_analytics.files import open_regular

_KEY_FILE: Final = "privacy.key"
_KEY_BYTES: Final = 32
_HASHES: Final = 2**512  # the number of possible hashes
# Ranges of the factor. They exclude values near 1, with which masked amounts would be close to the real ones.
_FACTORS: Final = ((1 / 3, 0.8), (1.25, 3.0))
_NOISE_OF_AMOUNT: Final = 0.04  # at most, as a fraction of the amount
_NOISE_OF_PAYMENT: Final = 0.7  # at most, for amounts up to _SMALL_CENTS; falls as amounts grow
_SMALL_CENTS: Final = 20_00
_FALL: Final = 0.7
_HUGE_CENTS: Final = 10**12  # from here on amounts do not grow, so that sums of them stay exact
_FIRST_ID: Final = 10**18
_PHONE_DIGITS: Final = 7
_EMAIL: Final = re.compile(r"[^\s@]+@[^\s@]+")
_PHONE: Final = re.compile(r"\+?[\d\s().-]{7,20}", re.ASCII)
_LONGEST_PHONE: Final = 15  # digits, by E.164; ids of the service are longer


def load_key() -> bytes:
    """Return the user's key, which the first call creates at random in a private file of the state folder.

    Raises
    ------
    ConfigurationError
        The file cannot be created or read, holds no key, or is in a folder that other users can write to.
    """
    path = settings.private_state_dir() / _KEY_FILE
    try:
        if not settings.is_private(path.parent):
            raise PermissionError(None, "other users can write there")
        if not path.exists():
            _create_key(path)
        with open_regular(path) as file:
            key = file.read(_KEY_BYTES + 1)
            if len(key) == _KEY_BYTES and os.fstat(file.fileno()).st_mode & 0o077:
                os.fchmod(file.fileno(), 0o600)
    except OSError as error:
        raise ConfigurationError(
            f"The key of privacy mode cannot be kept in {path} ({describe_os_error(error)}): "
            f"set {settings.STATE_DIR_VARIABLE} to a folder of yours."
        ) from None
    if len(key) != _KEY_BYTES:
        raise ConfigurationError(f"{path} is no key of privacy mode: delete it; a new key gives new pseudonyms.")
    return key


def _create_key(path: Path) -> None:
    # Creating a hard link fails if the key exists, so two processes that start together use the same key.
    descriptor, temporary = tempfile.mkstemp(prefix=".p2p-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(temporary)
    finally:
        Path(temporary).unlink()


class Pseudonyms:
    """The pseudonyms of one history; different people, addresses and notes have different ones.

    Parameters
    ----------
    key : bytes, optional
        32 random bytes; the user's own key by default.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = load_key() if key is None else key
        self._assigned: dict[tuple[str, str], str] = {}
        self._used: set[str] = set()
        low, high = _FACTORS[self._hash("factor", "") & 1]
        self._factor: float = low * (high / low) ** self._fraction("factor", "size")

    def identifier(self, text: str) -> str:
        """Return 19 digits for an id."""
        return str(_FIRST_ID + self._hash("id", text) % (8 * _FIRST_ID))

    def name(self, text: str) -> str:
        """Return a name like "Maple Otter" for the text that identifies a person.

        If two people would share a name, the second one gets a number too.
        """
        return self._assign("name", text, lambda number, digits: _spell_words(number, _ANIMALS, digits))

    def email(self, text: str) -> str:
        """Return an address like "maple.otter@example.invalid"."""
        words = self._assign("email", text, lambda number, digits: _spell_words(number, _ANIMALS, digits) + "@")
        return words.lower().replace(" ", ".") + "example.invalid"

    def phone(self, text: str) -> str:
        """Return a fictitious phone number: "1555" and seven digits."""
        return self._assign(
            "phone", text, lambda number, digits: f"1555{_spell_digits(number, _PHONE_DIGITS + digits)}"
        )

    def note(self, text: str) -> str:
        """Return two words like "maple kettle", with a number if another note has the same words."""
        return self._assign("note", text, lambda number, digits: _spell_words(number, _THINGS, digits).lower())

    def same_form(self, text: str) -> str:
        """Return a pseudonym of the same form as the text: an email, id, phone or name."""
        if _EMAIL.fullmatch(text):
            return self.email(text)
        if text.isdecimal() and len(text) > _LONGEST_PHONE:
            return self.identifier(text)
        return self.phone(text) if _PHONE.fullmatch(text) else self.name(text)

    def cents(self, cents: int, payment_id: str = "") -> int:
        """Return an amount times the key's factor, changed by keyed noise and rounded to whole cents.

        The noise depends on the key, the size of the amount and the payment id, so a payment has the same masked
        amount each time. An amount without a payment id, such as a sum in a table, has different noise: a table that
        sums a single payment shows a second sample of that payment's noise.
        The noise changes an amount up to $20 by at most 74 %, $50 by 41 %, $100 by 27 % and $1,000 by 9 %. The sign
        stays, 0 stays 0 and nothing else becomes 0. From ten billion dollars on, the factor is below 1.

        Parameters
        ----------
        cents : int
            The amount.
        payment_id : str
            The id of the payment; empty for a balance or a sum.
        """
        size = abs(cents)
        if not size:
            return 0
        reach: float = _NOISE_OF_PAYMENT * min(1.0, (_SMALL_CENTS / size) ** _FALL)
        noise = _NOISE_OF_AMOUNT * self._deviation("amount", f"{size}")
        noise += reach * self._deviation("payment", f"{size} {payment_id}")
        factor = self._factor if size < _HUGE_CENTS else min(self._factor, 1 / self._factor)
        changed: int = round(size * factor * (1 + noise))
        return max(changed, 1) * (-1 if cents < 0 else 1)

    def _assign(self, kind: str, text: str, form: Callable[[int, int], str]) -> str:
        if (kind, text) not in self._assigned:
            number = self._hash(kind, text)
            forms = (form(number, digits) for digits in itertools.count())
            pseudonym = next(form for form in forms if form not in self._used)
            self._used.add(pseudonym)
            self._assigned[kind, text] = pseudonym
        return self._assigned[kind, text]

    def _deviation(self, kind: str, text: str) -> float:
        """Return a number from -1 to 1, uniformly distributed."""
        return 2 * self._fraction(kind, text) - 1

    def _fraction(self, kind: str, text: str) -> float:
        """Return a number from 0 to 1, uniformly distributed."""
        return self._hash(kind, text) / _HASHES

    def _hash(self, kind: str, text: str) -> int:
        hashed = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, person=kind.encode())
        return int.from_bytes(hashed.digest())


def _spell_words(number: int, seconds: tuple[str, ...], digits: int) -> str:
    rest, first = divmod(number, len(_FIRSTS))
    rest, second = divmod(rest, len(seconds))
    return f"{_FIRSTS[first]} {seconds[second]}{' ' + _spell_digits(rest, digits) if digits else ''}"


def _spell_digits(number: int, width: int) -> str:
    return f"{number % 10**width:0{width}}"


# Words that form no real name and no rude combination.
_FIRSTS: Final = (
    "Almond", "Alpine", "Apricot", "Arctic", "Autumn", "Azure", "Balmy", "Bamboo", "Barley", "Basalt", "Beech",
    "Birch", "Blue", "Brass", "Brave", "Breezy", "Bright", "Brisk", "Bronze", "Calm", "Canyon", "Cedar", "Chalk",
    "Cheerful", "Chestnut", "Citrus", "Clever", "Cloudy", "Cobalt", "Cocoa", "Copper", "Cosmic", "Cotton", "Crimson",
    "Crisp", "Curious", "Cypress", "Dapper", "Dusky", "Eager", "Elm", "Emerald", "Fabled", "Flint", "Floral", "Foggy",
    "Frosty", "Gentle", "Gilded", "Golden", "Granite", "Grassy", "Green", "Happy", "Harbor", "Hearty", "Honey", "Icy",
    "Indigo", "Inky", "Jaunty", "Jolly", "Jovial", "Keen", "Khaki", "Kind", "Lagoon", "Larch", "Lavender", "Lemon",
    "Lilac", "Lime", "Linen", "Lively", "Lofty", "Lucky", "Lunar", "Magenta", "Mango", "Maple", "Marble", "Marine",
    "Maroon", "Mellow", "Merry", "Midnight", "Minty", "Misty", "Modest", "Mossy", "Neat", "Nimble", "Noble", "Nutmeg",
    "Oaken", "Ocean", "Ochre", "Onyx", "Orange", "Orchid", "Papaya", "Patient", "Peach", "Pebble", "Pecan", "Pine",
    "Plaid", "Plum", "Polar", "Polite", "Poplar", "Prairie", "Quartz", "Quick", "Quiet", "Quilted", "Rainy", "Rosy",
    "Russet", "Rustic", "Rye", "Saffron", "Sapphire", "Sepia", "Shady", "Silent", "Silver", "Sleepy", "Snowy", "Solar",
    "Spruce", "Steady", "Stellar", "Sturdy", "Sunny", "Swift", "Tawny", "Teal", "Tender", "Thrifty", "Tidy", "Timber",
    "Topaz", "Tranquil", "Tropical", "Tulip", "Twilight", "Umber", "Upbeat", "Velvet", "Vivid", "Walnut", "Warm",
    "Wheaten", "Windy", "Winter", "Wise", "Witty", "Wooden", "Woolly", "Zesty",
)  # fmt: skip
_ANIMALS: Final = (
    "Albatross", "Alpaca", "Antelope", "Armadillo", "Avocet", "Badger", "Beaver", "Bison", "Bittern", "Bluebird",
    "Bobolink", "Bunting", "Capybara", "Caribou", "Chamois", "Chickadee", "Chipmunk", "Cicada", "Condor", "Cormorant",
    "Crane", "Cricket", "Curlew", "Dolphin", "Dormouse", "Dotterel", "Dragonfly", "Dunlin", "Egret", "Eider", "Elk",
    "Falcon", "Firefly", "Flamingo", "Gannet", "Gazelle", "Gecko", "Giraffe", "Goldfinch", "Grebe", "Grouse", "Hare",
    "Hedgehog", "Heron", "Hoopoe", "Hornbill", "Ibex", "Ibis", "Iguana", "Impala", "Jackdaw", "Jaguar", "Jerboa",
    "Kestrel", "Kinglet", "Kiwi", "Koala", "Kudu", "Lapwing", "Lemur", "Leopard", "Linnet", "Llama", "Lynx", "Macaw",
    "Magpie", "Manatee", "Marmot", "Meerkat", "Mongoose", "Moose", "Narwhal", "Nightjar", "Nuthatch", "Ocelot", "Okapi",
    "Oriole", "Oryx", "Osprey", "Otter", "Ouzel", "Owl", "Panda", "Panther", "Parakeet", "Partridge", "Pelican",
    "Penguin", "Petrel", "Pheasant", "Pika", "Pipit", "Plover", "Porpoise", "Ptarmigan", "Puffin", "Quail", "Quokka",
    "Rabbit", "Raccoon", "Redstart", "Reindeer", "Roebuck", "Salmon", "Sandpiper", "Seahorse", "Seal", "Serval",
    "Skylark", "Sparrow", "Springbok", "Squirrel", "Starling", "Stoat", "Stork", "Swallow", "Tamarin", "Tanager",
    "Tapir", "Tern", "Thrush", "Toucan", "Turtle", "Vicuna", "Wagtail", "Wallaby", "Warbler", "Waxwing", "Wombat",
    "Woodlark", "Yak", "Zebra",
)  # fmt: skip
_THINGS: Final = (
    "anchor", "apron", "atlas", "ballad", "balloon", "banjo", "barrel", "basket", "beacon", "bench", "blanket",
    "bonnet", "bookcase", "bottle", "bouquet", "bridge", "bucket", "button", "cabin", "candle", "canoe", "canvas",
    "carpet", "carriage", "castle", "cello", "chair", "chimney", "clock", "cloud", "compass", "cottage", "crayon",
    "curtain", "cushion", "drum", "easel", "envelope", "fence", "ferry", "fiddle", "flag", "flute", "fountain",
    "garden", "gazebo", "glove", "hammock", "harp", "helmet", "jacket", "jar", "jigsaw", "kettle", "kite", "ladder",
    "lamp", "lantern", "loom", "lute", "mandolin", "map", "mirror", "mitten", "mug", "needle", "notebook", "oar",
    "orchard", "paddle", "pail", "parasol", "parcel", "path", "pencil", "pennant", "piano", "pillow", "pitcher",
    "plate", "pocket", "porch", "postcard", "puzzle", "quilt", "raft", "ribbon", "river", "rocket", "roof", "saddle",
    "sail", "satchel", "scarf", "shelf", "ship", "sketch", "sled", "slipper", "snowflake", "sofa", "spoon", "stairs",
    "stamp", "stool", "suitcase", "sundial", "teapot", "tent", "thimble", "thread", "toolbox", "torch", "tower",
    "train", "tray", "trumpet", "tunnel", "umbrella", "valley", "vase", "violin", "wagon", "wheel", "whistle",
    "window", "windmill", "wreath", "yarn", "zipper",
)  # fmt: skip
