"""The forms in which the same thing is written: codes, units, dates, initials. Pure.

People say "150 euros in Canadian dollars" and functions take EUR and CAD; they say "the 7th of
March" and functions take 2024-03-07. Only forms that leave no doubt of what they stand for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set

# The currencies that are traded most (BIS, Triennial Survey 2022), and bitcoin.
CURRENCIES = """
usd: dollar dollars american america $
eur: euro euros €
jpy: yen japanese japan ¥
gbp: pound pounds sterling british britain uk £
cny: yuan renminbi rmb chinese china
aud: australian australia
cad: canadian canada
chf: franc francs swiss switzerland
hkd: hong
sgd: singapore
sek: krona kronor swedish sweden
krw: won korean korea
nok: krone kroner norwegian norway
nzd: zealand
inr: rupee rupees indian india ₹
mxn: peso pesos mexican mexico
twd: taiwan taiwanese
zar: rand south african
brl: real reais brazilian brazil
dkk: krone kroner danish denmark
pln: zloty polish poland
thb: baht thai thailand
ils: shekel shekels israeli israel
idr: rupiah indonesian indonesia
czk: koruna crowns czech
aed: dirham dirhams emirates
try: lira turkish turkey
huf: forint forints hungarian hungary
rub: ruble rubles rouble roubles russian russia
btc: bitcoin bitcoins
"""
UNITS = """
in: inch inches
ft: foot feet
yd: yard yards
mi: mile miles
mm: millimeter millimeters millimetre millimetres
cm: centimeter centimeters centimetre centimetres
km: kilometer kilometers kilometre kilometres
mg: milligram milligrams
kg: kilo kilos kilogram kilograms
lb: pound pounds
lbs: pound pounds
oz: ounce ounces
ml: milliliter milliliters millilitre millilitres
gal: gallon gallons
mph: miles
kmh: kilometers kilometres
sec: second seconds
min: minute minutes
hr: hour hours
imperial: fahrenheit miles pounds feet inches gallons
metric: celsius kilometers kilometres kilograms kilos meters metres
"""
MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
TOKEN = re.compile(r"[a-z]+|[$€¥£₹]")
DATE = re.compile(r"\b(\d{1,4})[-/.](\d{1,2})[-/.](\d{1,4})\b")
RELATIVE = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|now|next|coming|upcoming|last|past|week(?:end)?|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b",
    re.IGNORECASE,
)
YEARS = 32  # a part of a date from here on is the year
NUMBER = re.compile(r"\d+")
NAME = re.compile(r"\b[A-Z][a-z]+")
CAPITALS = re.compile(r"\b[A-Z]{2,4}\b")


def _table(lines: str) -> Iterator[tuple[str, frozenset[str]]]:
    for line in filter(None, lines.splitlines()):
        code, _, words = line.partition(": ")
        yield code, frozenset(words.split())


CODES = dict(_table(CURRENCIES + UNITS))


def in_another_form(value: str, text: str) -> bool:
    """Does a text say what a value stands for, or call it by its initials?"""
    return _is_code(value, text) or _has_initials(value, text)


def codes_for(text: str) -> frozenset[str]:
    """The codes that stand for something that a text says."""
    said = set(TOKEN.findall(text.lower()))
    return frozenset(code for code, meant in CODES.items() if meant & said)


def spelled_out(words: Set[str]) -> frozenset[str]:
    """Words, and what those of them that are codes stand for."""
    return frozenset(words).union(*(CODES.get(word, ()) for word in words))


def _is_code(value: str, text: str) -> bool:
    meant = CODES.get(value.strip().lower().replace("/", ""), frozenset())
    return not meant.isdisjoint(TOKEN.findall(text.lower()))


def date_said(value: str, text: str) -> bool | None:
    """Does a text give a date: in full, its day, its month, or as tomorrow? None for no date.

    The year alone gives none, nor does another date.
    """
    dates = [_parts(found) for found in DATE.findall(value)]
    if not dates:
        return None
    given = [_parts(found) for found in DATE.findall(text)]
    if any(date in given for date in dates):
        return True
    rest = DATE.sub(" ", text)
    partial = {part for date in dates for part in date if part < YEARS}
    return bool(RELATIVE.search(rest)) or not partial.isdisjoint({*_days(rest), *_months(rest)})


def _parts(date: tuple[str, ...]) -> list[int]:
    """The parts of a date, whatever their order is."""
    return sorted(map(int, date))


def _days(text: str) -> Iterable[int]:
    return (int(number) for number in NUMBER.findall(text) if len(number) <= 2)


def _months(text: str) -> Iterable[int]:
    words = [word for word in TOKEN.findall(text.lower()) if len(word) > 2]
    return (
        at
        for at, month in enumerate(MONTHS, start=1)
        if any(month.startswith(word) for word in words)
    )


def _has_initials(value: str, text: str) -> bool:
    """Does the text call it by initials: LA for Los Angeles, CA?"""
    names = NAME.findall(value)
    initials = "".join(name[0] for name in names)
    return len(names) > 1 and any(short == initials for short in CAPITALS.findall(text))
