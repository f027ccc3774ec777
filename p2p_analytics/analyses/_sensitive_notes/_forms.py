"""Email addresses, phone numbers and street addresses, which are recognised by their form.

Every expression is bounded, so that it takes time in proportion to a text, whatever the text holds.
"""

from __future__ import annotations

import re
from typing import Final

_EMAIL: Final = re.compile(
    r"(?<=[\w+.-])@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,4}\.[a-z]{2,}"
    r"|\b(?:gmail|googlemail|hotmail|yahoo|outlook|icloud|protonmail|aol)(?: ?[(\[]?dot[)\]]? ?| ?\. ?)"
    r"(?:com|net|de|fr|es|co)\b"
)
_DIGIT: Final = re.compile(r"[0-9]")

# After an order, an account or an amount, a number is not a phone number.
_NO_PHONE: Final = re.compile(
    r"(?:order|invoice|inv|receipt|conf|confirmation|booking|ticket|ref|reference|case|claim|acct|account|tracking|"
    r"serial|isbn|policy|member|id|no|nr|code|sku|item|po|check|routing|iban)[ .:#]{0,3}$|[$€£¥#]\s?$"
)
_PHONES: Final = re.compile(
    r"(?<![\w.,$€£#/-])(?:"
    r"(?:\+|00)[ ]?[1-9]\d{0,2}(?:[ ./-]?\(?\d{1,5}\)?){2,6}"  # with a country code
    r"|(?:1[ .-]?)?\(?[2-9]\d{2}\)?[ .-]{0,2}\d{3}[ .-]?\d{4}"  # the Americas
    r"|[2-9]\d{2}[-. ]\d{4}"  # without an area code
    r"|\(?0[1-9]\d{0,4}\)?(?:[ ./-]?\d{2,8}){1,5}"  # Europe, with the trunk prefix
    r")(?![\w/-]|[.,:]\d)"
)
_FEWEST_DIGITS: Final = 7
_MOST_DIGITS: Final = 15
_BEFORE: Final = 16  # characters before a number that are looked at
_DATE: Final = re.compile(r"0?\d{1,2}[ ./-]\d{1,2}[ ./-](?:19|20)?\d\d")

_STREET_TYPES: Final = (
    "street|str|st|avenue|ave|av|road|rd|boulevard|blvd|drive|dr|lane|ln|court|ct|place|pl|terrace|ter|circle|cir|"
    "parkway|pkwy|highway|hwy|way|square|sq|trail|trl|crescent|cres|close|grove|gardens|gdns|mews|row|walk|alley|loop"
)
_NO_NAME: Final = (
    "for|the|on|at|of|a|an|to|in|my|your|our|and|with|per|from|by|x|is|st|nd|rd|th|more|days?|weeks?|hours?|min"
)
_WORD: Final = rf"(?!(?:{_NO_NAME})\b)[a-z0-9'.-]{{1,24}}"
_STREET: Final = re.compile(
    rf"(?<![\w$€£.,/])\d{{1,5}}[a-z]?,? {{1,2}}(?:{_WORD} {{1,2}}){{1,3}}?(?:{_STREET_TYPES})\b(?!')"  # 12 High Street
    r"|\b(?:[a-z-]{2,24}(?:stra(?:ss|ß)e|str\.|weg|gasse|allee|platz|damm|ufer|straat|laan|gatan|vej)) \d{1,4}[a-z]?\b"
    r"|\b\d{1,4}(?: ?bis| ?ter)?,? (?:rue|avenue|boulevard|bd|chemin|impasse|quai|allee|place)(?: d[eu]s?)? [a-z]{2,}"
    r"|\b(?:calle|avenida|avda|carrera|cra|paseo|plaza|camino|rua|avenida|travessa|via|viale|corso|piazza|vicolo)"
    rf"(?: (?:{_WORD} ){{1,4}}|\s)(?:no\.? ?|n\.? ?|num\.? ?|# ?|, ?)?\d{{1,5}}\b"
    r"|\bp\.? ?o\.? ?box \d+"
    r"|\b(?:apt|apartment|apto|appartement|flat|wohnung|suite|ste)\.? ?(?:no\.? ?|# ?)?(?:\d{1,5}[a-z]?|[a-z]\d{1,4})\b"
    r"|\b[a-z]{1,2}\d[a-z\d]? \d[a-z]{2}\b"  # British postcodes
    r"|\b(?:a[klrz]|c[aot]|d[ce]|fl|ga|hi|i[adln]|k[sy]|la|m[adeinost]|n[cdehjmvy]|o[hkr]|pa|ri|s[cd]|t[nx]|ut|v[at]|"
    r"w[aivy]) \d{5}(?:-\d{4})?\b"  # a state with its postcode
)


def find_forms(folded: str) -> set[str]:
    """Return which of email, phone and address a folded text has."""
    found = set()
    if ("@" in folded or "dot" in folded or "mail" in folded) and _EMAIL.search(folded):
        found.add("email")
    if _DIGIT.search(folded):
        for number in _PHONES.finditer(folded):
            text = number.group()
            digits = sum(map(str.isdigit, text))
            before = folded[max(number.start() - _BEFORE, 0) : number.start()]
            is_phone = _FEWEST_DIGITS <= digits <= _MOST_DIGITS and not _DATE.fullmatch(text)
            if is_phone and not _NO_PHONE.search(before):
                found.add("phone")
                break
        if _STREET.search(folded):
            found.add("address")
    return found
