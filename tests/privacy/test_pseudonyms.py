"""Pseudonyms are stable under a key, distinct for different people, and unpredictable without the key."""

import os
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics.analyses import spend_by_friend
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.money import LARGEST_CENTS
from p2p_analytics.privacy import Pseudonyms, load_key
from support.reports import payment_row, report_history

KEY = bytes(range(32))
KINDS = {
    "name": r"[A-Z][a-z]+ [A-Z][a-z]+",
    "email": r"[a-z]+\.[a-z]+@example\.invalid",
    "phone": r"1555\d{7}",
    "note": r"[a-z]+ [a-z]+",
    "identifier": r"[1-8]\d{18}",
}


@pytest.mark.parametrize(("kind", "form"), KINDS.items())
def test_a_pseudonym_looks_like_what_it_stands_for(kind: str, form: str) -> None:
    """A name reads as a name, an address as one that cannot exist, an id as an id; the same each time."""
    shown = getattr(Pseudonyms(KEY), kind)("Nora Quill 🍝")
    assert re.fullmatch(form, shown)
    assert getattr(Pseudonyms(KEY), kind)("Nora Quill 🍝") == shown
    assert getattr(Pseudonyms(KEY[::-1]), kind)("Nora Quill 🍝") != shown


def test_different_people_never_share_a_pseudonym() -> None:
    """If two names have the same words, a number distinguishes them; the first keeps the plain name."""
    pseudonyms = Pseudonyms(KEY)
    names = [pseudonyms.name(f"{number}") for number in range(1_000)]
    assert [pseudonyms.name(f"{number}") for number in range(1_000)] == names
    numbered = [name for name in names if re.fullmatch(r"[A-Z][a-z]+ [A-Z][a-z]+ \d", name)]
    assert len(numbered) > 5
    assert all(names.index(name[:-2]) < names.index(name) for name in numbered)
    notes, emails = ([form(f"{number}") for number in range(1_000)] for form in (pseudonyms.note, pseudonyms.email))
    phones = [pseudonyms.phone(f"{number}") for number in range(12_000)]
    assert [len(set(texts)) for texts in (names, notes, emails, phones)] == [1_000, 1_000, 1_000, 12_000]
    for texts, plain in ((notes, r"[a-z]+ [a-z]+"), (emails, r"[a-z]+\.[a-z]+@.*"), (phones, r"1555\d{7}")):
        assert not all(re.fullmatch(plain, text) for text in texts)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("nora@example.com", "email"), ("15550100199", "phone"), ("+1 (555) 010-0199", "phone"),
        ("1088550000000880949", "identifier"), ("Nora Quill", "name"), ("Sam @ home", "name"), ("Café 24", "name"),
    ],
)  # fmt: skip
def test_a_text_of_any_kind_gets_its_own_form(text: str, kind: str) -> None:
    """By its look: an email, a phone of at most 15 digits, a longer number, or a name."""
    assert Pseudonyms(KEY).same_form(text) == getattr(Pseudonyms(KEY), kind)(text)


@given(key=st.binary(min_size=32, max_size=32), cents=st.integers(-LARGEST_CENTS // 2, LARGEST_CENTS // 2))
@settings(max_examples=60)
def test_amounts_are_scaled_by_one_factor_and_noise(key: bytes, cents: int) -> None:
    """The factor is a third to 3 and never near 1; the sign stays, and 0 is for 0 alone; the noise is bounded."""
    kinds = Pseudonyms(key)
    factor = kinds._factor
    assert 1 / 3 <= factor <= 0.8 or 1.25 <= factor <= 3
    shown = kinds.cents(cents, "7")
    factor = factor if abs(cents) < 10**12 else min(factor, 1 / factor)  # so that sums of huge amounts stay exact
    assert abs(shown - cents * factor) <= 0.5 + 0.74 * abs(cents * factor) or abs(shown) == 1
    assert kinds.cents(-cents, "7") == -shown
    assert (shown == 0) == (cents == 0)
    assert shown * cents >= 0
    assert abs(kinds.cents(-LARGEST_CENTS)) <= LARGEST_CENTS


def test_an_amount_is_masked_by_its_size_and_payment() -> None:
    """The same each time and for either sign, another for another key; by at most, and nearly, the stated share."""
    kinds = Pseudonyms(KEY)
    assert kinds.cents(85_000, "1") == Pseudonyms(KEY).cents(85_000, "1") == -kinds.cents(-85_000, "1")
    assert len({kinds.cents(85_000, f"{payment}") for payment in range(50)}) > 45
    assert kinds.cents(85_000, "1") != Pseudonyms(KEY[::-1]).cents(85_000, "1")
    for units, percent in {5: 74, 20: 74, 50: 41, 100: 27, 1_000: 9}.items():
        real = 100 * units * kinds._factor
        off = [abs(kinds.cents(100 * units, f"{payment}") / real - 1) for payment in range(1_000)]
        assert (percent - 5) / 100 - 0.04 < max(off) < (percent + 0.5) / 100, units


def test_sums_that_are_exact_stay_exact() -> None:
    """Analyses refuse 2**53 cents or more in all; amounts that are less than that do not reach it when masked."""
    huge = {"direction": "out", "flow_cents": -(2**51 - 1), "counterparty_id": "2"}
    history = report_history([payment_row(at, "2024-01-05T09:00:00Z", **huge) for at in range(4)])
    keys = (KEY, KEY[::-1], b"\xff" * 32, b"\0" * 32)
    assert {Pseudonyms(key)._factor > 1 for key in keys} == {True, False}
    for key in keys:
        assert spend_by_friend(history.masked(key=key).payments)["payments"].tolist() == [4]


def test_the_key_is_made_once_and_for_its_owner_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """32 random bytes in a file of mode 0600, each folder made 0700, whatever the umask; the same ever after."""
    monkeypatch.setenv("P2P_STATE_DIR", str(tmp_path / "new" / "state"))
    umask = os.umask(0)
    try:
        with ThreadPoolExecutor(8) as pool:
            (key,) = set(pool.map(lambda _: load_key(), range(32)))
    finally:
        os.umask(umask)
    (file,) = (tmp_path / "new" / "state").iterdir()
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent, file.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]
    assert len(key) == 32
    assert Pseudonyms().name("7") == Pseudonyms(key).name("7")
    file.chmod(0o644)  # a key that others could read is closed, and stays
    assert load_key() == key
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    monkeypatch.setenv("P2P_STATE_DIR", str(tmp_path / "other"))
    assert load_key() != key


def test_a_key_that_cannot_be_used_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged one is not replaced in silence, and others could plant one into a folder that they can write into."""
    folder = Path(os.environ["P2P_STATE_DIR"])
    load_key()
    (folder / "privacy.key").write_bytes(b"short")
    with pytest.raises(ConfigurationError, match=r"privacy\.key is no key .* delete it"):
        load_key()
    (folder / "privacy.key").write_bytes(b"k" * 32)
    folder.chmod(0o777)
    with pytest.raises(ConfigurationError, match=r"other users can write there.*set P2P_STATE_DIR"):
        load_key()
    monkeypatch.setenv("P2P_STATE_DIR", str(folder / "privacy.key" / "below"))
    with pytest.raises(ConfigurationError, match=r"state folder .* P2P_STATE_DIR"):
        load_key()
