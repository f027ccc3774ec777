"""People behind the names in statements: names seen with a user id, suggestions, and the file in which users decide."""

from __future__ import annotations

import csv
import difflib
import io
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import pandas as pd

from p2p_analytics.display import clean_line
from p2p_analytics.errors import ArchiveError
from p2p_analytics.formulas import defuse_text, restore_text
from p2p_analytics.frames import schema
from p2p_analytics.records import User

BY_PAYMENTS: Final = "payments"
BY_FILE: Final = "people.csv"
BY_USERNAME: Final = "username"
_SEPARATOR_LINE: Final = "sep="
COLUMNS: Final = ("alias", "person", "evidence")
_NEEDED: Final = ("alias", "person")  # what a user types; the evidence is ours
_OPEN: Final = "?"  # before a person who is only suggested
_BY_USERNAME: Final = "user:"  # not "@", with which a spreadsheet begins a formula
_ROUNDED: Final = re.compile(r"\d[.,]\d+[eE]\+?\d+")
_MOST_COMPARED: Final = 20  # lines for which the nearest name is looked for
_PEOPLE: Final = dict.fromkeys(("alias", "person", "username", "matched", "evidence"), schema.TEXT)


class Fault(NamedTuple):
    """A line of people.csv that cannot be used and is left out, and the reason; line 0 is the whole file."""

    line: int
    reason: str


class Alias(NamedTuple):
    """A line of people.csv: a name of statements, the person that it is, why, and the cells of the user's columns."""

    alias: str
    person: str
    evidence: str
    line: int = 0
    further: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether the user has not decided yet."""
        return self.person.startswith(_OPEN)

    @property
    def is_kept(self) -> bool:
        """Whether the user decided, or wrote into an added column."""
        return not self.is_open or any(self.further)


class PeopleFile(NamedTuple):
    """The content of people.csv: its lines, and the names of the columns that the user added."""

    lines: Sequence[Alias] = ()
    further: tuple[str, ...] = ()


class Match(NamedTuple):
    """The person of a name: an id, or else another name; how it was matched, and why."""

    user_id: str | None
    name: str
    matched: str
    evidence: str


class NamesOfPeople:
    """Names of people: in PEOPLE, in payments that service and statement both contain, and in files with user ids.

    ``seen`` and ``shown`` are the two kinds of payments: a name, the id of the person, and the number of payments.
    """

    def __init__(
        self, people: pd.DataFrame, seen: Iterable[tuple[str, str, int]], shown: Iterable[tuple[str, str, int]] = ()
    ) -> None:
        self.usernames: dict[str, str] = {}
        self.ids_by_username: dict[str, str] = {}  # in the form in which usernames are compared
        self.names: dict[str, str] = {}
        self.ids: defaultdict[str, set[str]] = defaultdict(set)
        self.evidence: defaultdict[str, dict[str, str]] = defaultdict(dict)
        table = people[["user_id", "username", "display_name", "also_named"]].astype(object)
        for user_id, username, name, others in table.where(table.notna(), None).itertuples(index=False, name=None):
            if username:
                self.usernames[user_id] = username
                self.ids_by_username[username.casefold()] = user_id
            self.names[user_id] = name or username or user_id
            for each in filter(None, [name, *(others or "").split("; ")]):
                self.ids[each].add(user_id)
        for pairs, words in ((shown, "in files with user ids"), (seen, "known from both sides")):
            for name, user_id, count in pairs:
                known = "payment is" if count == 1 else "payments are"
                self.evidence[name][user_id] = f"{count:,} {known} {words}"
                self.ids[name].add(user_id)

    def match(self, name: str) -> Match | None:
        """Return the person of a name that payments show to be one person, and that no other person has."""
        if len(self.evidence.get(name, ())) != 1 or len(self.ids[name]) != 1:
            return None
        ((user_id, why),) = self.evidence[name].items()
        return Match(user_id, name, BY_PAYMENTS, why)

    def find(self, person: str) -> str | None:
        """Return the id of a person who is named by the id or by "user:" and the username; None for a name."""
        if person in self.names:
            return person
        if person.startswith(_BY_USERNAME):
            return self.ids_by_username.get(person.removeprefix(_BY_USERNAME).casefold())
        return None

    def spell(self, user_id: str) -> str:
        """Return a person as `find` understands it."""
        username = self.usernames.get(user_id)
        spelled = f"{_BY_USERNAME}{username}"
        return spelled if username and self.find(spelled) == user_id else user_id


def match_names(
    names: Iterable[str], known: NamesOfPeople, aliases: Sequence[Alias], file: str, owner: User | None = None
) -> tuple[dict[str, Match], list[Fault]]:
    """Return the match of each name that has one, by the user's file, else by payments; and the lines left out."""
    wanted = dict.fromkeys(names)
    found = {name: match for name in wanted if (match := known.match(name)) is not None}
    decided, faults = _read_decisions(aliases, wanted, known)
    for name, person in decided.items():
        if not person:
            found.pop(name, None)  # the user keeps the name apart
    for name, person in decided.items():
        if not person or name not in wanted:
            continue
        target = _follow(name, person, decided)
        user_id = known.find(target)
        by_payments = found.get(target) or known.match(target)
        if user_id is None and by_payments is not None and decided.get(target) != "":
            user_id = by_payments.user_id
        is_owner = owner is not None and (user_id == owner.id or target in {owner.display_name, owner.username})
        why = f"{file} says so" + (", but this is the holder of the account" if is_owner else "")
        found[name] = Match(user_id, name if user_id else target, BY_FILE, why)
    return found, faults


def suggest_people(names: Iterable[str], known: NamesOfPeople, settled: Mapping[str, Match]) -> list[Alias]:
    """Return suggestions for names without a match; nothing is united until the user accepts one."""
    unsettled = sorted(name for name in set(names) if name not in settled)
    folded = {name: _fold(name) for name in {*known.ids, *names}}
    spellings = defaultdict(set)
    for name, plain in folded.items():
        spellings[plain].add(name)
    by_others = defaultdict(set)  # each word of a name with the name, by its other words
    for plain in spellings:
        for word, others in _split(plain):
            by_others[others].add((word, plain))
    found = []
    for name in unsettled:
        ids = sorted(known.ids.get(name, ()), key=lambda each: (len(each), each))
        why = "is the only person of this name" if len(ids) == 1 else f"is one of {len(ids)} people of this name"
        found += [Alias(name, _OPEN + known.spell(each), f"{known.names.get(each, each)} {why}") for each in ids]
        if ids:
            continue
        united = {other for other, match in settled.items() if match.name == name}  # the user says that they are this
        alike = {
            other
            for other in spellings[folded[name]] - united
            if other != name and (other in known.ids or _rank(other) < _rank(name))
        }
        persons = {other for other in alike if other in known.ids}
        if alike and len(set().union(*(known.ids[each] for each in persons))) <= 1:  # of several, one stays
            other = min(persons or alike, key=_rank)
            found.append(Alias(name, _OPEN + other, f"{other} differs in case, accents, signs or order of words alone"))
            continue
        full = {  # "ada lovelace" for "ada l"
            plain
            for cut, others in _split(folded[name])
            for word, plain in by_others.get(others, ())
            if word != cut and word.startswith(cut)
        }
        written = spellings[full.pop()] if len(full) == 1 else set()
        if written and written.isdisjoint(united):
            other = min(written, key=lambda each: (each not in known.ids, *_rank(each)))
            found.append(Alias(name, _OPEN + other, f"{other} may be the name in full"))
    return found


def list_unused(
    names: Collection[str], known: NamesOfPeople, aliases: Sequence[Alias], faults: Iterable[Fault]
) -> list[Alias]:
    """Return the user's lines without effect: no payment has their name, or they are wrong; the evidence says so."""
    wrong = {fault.line: fault.reason for fault in faults}
    lines = [row for row in aliases if row.line not in wrong]
    used = {name.strip() for name in (*names, *known.ids, *(row.person for row in lines))}
    lines = [row for row in lines if not row.is_open and row.alias.strip() not in used]
    reasons = []
    for at, row in enumerate(lines):
        alike = difflib.get_close_matches(row.alias, sorted(names), n=1) if at < _MOST_COMPARED else []
        nearest = f"; nearest: {alike[0]!r}" if alike else ""
        reasons.append((row, f"no payment of a statement has the name {row.alias!r}{nearest}"))
    reasons += [(row, wrong[row.line]) for row in aliases if row.line in wrong]
    return [row._replace(evidence=f"{BY_FILE}, line {row.line}: {why}") for row, why in reasons]


def _rank(name: str) -> tuple[bool, str]:
    """Return the order in which one of two spellings stays: one in capitals or with a comma is the other's alias."""
    return name.isupper() or "," in name, name


def list_people(
    counts: Mapping[str, int],
    matches: Mapping[str, Match],
    open_rows: Iterable[Alias],
    usernames: Mapping[str, str],
    unused: Iterable[Alias] = (),
) -> pd.DataFrame:
    """Return the names of statements: matched, suggested and other ones, then the user's lines without effect."""
    rows: list[tuple[str | int | None, ...]] = []
    for name, match in sorted(matches.items()):
        if name in counts:
            username = usernames.get(match.user_id or "")
            rows.append((name, match.user_id or match.name, username, match.matched, match.evidence, counts[name]))
    for row in (row for row in open_rows if row.alias in counts and row.alias not in matches):
        person = row.person.removeprefix(_OPEN)
        username = person.removeprefix(_BY_USERNAME) if person.startswith(_BY_USERNAME) else usernames.get(person)
        rows.append((row.alias, person, username, None, row.evidence, counts[row.alias]))
    named = {row[0] for row in rows}
    rows += [(name, None, None, None, None, counts[name]) for name in sorted(counts) if name not in named]
    rows += [(row.alias, None, None, None, row.evidence, 0) for row in unused]
    return pd.DataFrame(rows, columns=[*_PEOPLE, "payments"]).astype({**_PEOPLE, "payments": "int64"})


def read_aliases(body: bytes, file: str) -> PeopleFile:
    """Return the content of people.csv, also as a spreadsheet saved it; raise an ArchiveError if it is not usable."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ArchiveError(f"{file} is not in UTF-8: save it as CSV in UTF-8.") from None
    lines = [*text.splitlines()[:2], ""]
    first = lines[1] if text.startswith(_SEPARATOR_LINE) else lines[0]  # a spreadsheet adds a first line
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        if text.startswith(_SEPARATOR_LINE):
            next(reader)
        names = next(reader, [])
        header = [name.strip().casefold() for name in names]
        if set(_NEEDED) - set(header):
            raise ArchiveError(f"{file} needs the columns {' and '.join(_NEEDED)} in its first line: restore them.")
        if repeated := [name for name in COLUMNS if header.count(name) > 1]:
            raise ArchiveError(f"{file} has the column {repeated[0]} more than once: leave all of them out but one.")
        rows = [(reader.line_num, [restore_text(cell) for cell in cells]) for cells in reader]
    except csv.Error as error:
        raise ArchiveError(f"{file}, line {reader.line_num}: {error}; correct the line.") from None
    width = max([len(names), *(len(cells) for _, cells in rows)])
    header += [""] * (width - len(header))  # cells beyond the header are the user's
    header += [name for name in COLUMNS if name not in header]
    places = [header.index(name) for name in COLUMNS]
    others = [place for place in range(width) if place not in places]
    found = []
    for line, cells in rows:
        if not any(cell.strip() for cell in cells):
            continue
        texts = [*cells, *[""] * (len(header) - len(cells))]
        alias, person, evidence = (texts[place] for place in places)
        if person.startswith(_OPEN):
            person = _OPEN + restore_text(person.removeprefix(_OPEN))
        found.append(Alias(alias, person.strip(), evidence, line, tuple(texts[place] for place in others)))
    further = [*map(restore_text, names), *[""] * (width - len(names))]
    return PeopleFile(found, tuple(further[place] for place in others))


def write_aliases(content: PeopleFile) -> bytes:
    """Return people.csv, with formulas defused; `read_aliases` returns its content again.

    The person of a suggestion is defused behind the question mark, because the user removes that in a spreadsheet.
    """
    sink = io.StringIO(newline="")
    writer = csv.writer(sink, lineterminator="\n", quoting=csv.QUOTE_ALL)
    blank = ("",) * len(content.further)
    writer.writerow([*COLUMNS, *map(defuse_text, content.further)])
    for row in content.lines:
        person = _OPEN + defuse_text(row.person.removeprefix(_OPEN)) if row.is_open else row.person
        writer.writerow([defuse_text(cell) for cell in (row.alias, person, row.evidence, *(row.further or blank))])
    return sink.getvalue().encode("utf-8-sig")


def add_suggestions(content: PeopleFile, suggestions: Iterable[Alias]) -> PeopleFile:
    """Return the user's lines unchanged, then suggestions for names that have none; other open lines are replaced."""
    kept = [row for row in content.lines if row.is_kept]
    decided = {row.alias for row in kept if not row.is_open}
    present = {(row.alias, row.person) for row in kept}
    new = (row for row in suggestions if row.alias not in decided and row[:2] not in present)
    return content._replace(lines=[*kept, *new])


def _follow(name: str, target: str, decided: Mapping[str, str]) -> str:
    """Return the person of a name, who may be another name that has a person; a name that leads back ends it."""
    seen = {name}
    while decided.get(target) and target not in seen:
        seen.add(target)
        target = decided[target]
    return target


def _read_decisions(
    aliases: Sequence[Alias], wanted: Collection[str], known: NamesOfPeople
) -> tuple[dict[str, str], list[Fault]]:
    """Return the person of each alias (an id, a name, or empty to keep it apart), and the lines that are left out."""
    decided: dict[str, str] = {}
    faults = []
    stripped = {name.strip(): name for name in wanted}
    for row in aliases:
        if row.is_open:
            continue
        alias = row.alias if row.alias in wanted else stripped.get(row.alias.strip(), row.alias.strip())
        user_id = known.find(row.person)
        if _ROUNDED.fullmatch(row.person):
            reason = f"a spreadsheet rounded the id {row.person!r}: write the username, as in user:ada"
        elif user_id is None and (row.person.isdecimal() or row.person.startswith(_BY_USERNAME)):
            reason = f"the archive knows no person {row.person!r}: write a name, an id or user: and a username"
        elif decided.get(alias, user_id or row.person) != (user_id or row.person):
            reason = f"{row.alias!r} is {decided[alias]!r} in another line: keep one of the lines"
        elif _follow(alias, user_id or row.person, decided) == alias != (user_id or row.person):
            reason = f"it leads back to {row.alias!r} through other lines: remove one of them"
        else:
            decided[alias] = user_id or row.person
            continue
        faults.append(Fault(row.line, clean_line(reason)))
    return decided, faults


def _fold(name: str) -> str:
    """Return the words of a name in one order, without case, accents and signs; a name of signs alone as it is."""
    plain = (each for each in unicodedata.normalize("NFKD", name).casefold() if not unicodedata.combining(each))
    return " ".join(sorted("".join(each if each.isalnum() else " " for each in plain).split())) or name


def _split(name: str) -> list[tuple[str, str]]:
    """Return each word of a folded name of several words, with the others."""
    words = name.split()
    return [(word, " ".join(words[:at] + words[at + 1 :])) for at, word in enumerate(words) if len(words) > 1]
