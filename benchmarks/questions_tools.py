"""A small office, made up, so that every question in `questions.py` has one right answer."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

from azent.errors import ToolFailed
from azent.tools.standard import calculate, days_between

__all__ = [
    "calculate",
    "capital",
    "convert_currency",
    "days_between",
    "distance",
    "email_address",
    "population",
    "price",
    "temperature",
]

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

CAPITALS = {"norway": "Oslo", "peru": "Lima", "kenya": "Nairobi", "egypt": "Cairo"}
POPULATIONS = {"oslo": 717_710, "lima": 10_092_000, "nairobi": 4_397_073, "cairo": 10_203_693}
TEMPERATURES = {"oslo": -4, "lima": 19, "nairobi": 24, "cairo": 31}
PRICES = {"desk lamp": 39.9, "office chair": 129.0, "standing desk": 480.0}
ADDRESSES = {"anna berg": "anna.berg@example.org", "tom ray": "tom.ray@example.org"}
DISTANCES = {frozenset({"oslo", "bergen"}): 463, frozenset({"lima", "cusco"}): 1105}
DOLLARS = 1.1


def capital(country: str) -> str:
    """Tell the capital city of a country."""
    return _known(CAPITALS, _plain(country), "country")


def population(city: str) -> int:
    """Tell how many people live in a city."""
    return _known(POPULATIONS, _plain(city), "city")


def temperature(city: str) -> str:
    """Tell the current temperature in a city, in degrees Celsius."""
    return f"{_known(TEMPERATURES, _plain(city), 'city')} °C"


def price(item: str) -> str:
    """Tell what one piece of an item of the shop costs, in EUR."""
    return f"{_known(PRICES, _plain(item), 'item'):.2f} EUR"


def email_address(name: str) -> str:
    """Look up the email address of a person."""
    return _known(ADDRESSES, _plain(name), "person")


def distance(start: str, end: str) -> str:
    """Tell how far it is from one city to another by road, in km."""
    ends = frozenset({_plain(start), _plain(end)})
    return f"{_known(DISTANCES, ends, 'road')} km"


def convert_currency(amount: float, source: str, target: str) -> str:
    """Convert an amount of money from EUR to USD or back."""
    rates = {("EUR", "USD"): DOLLARS, ("USD", "EUR"): 1 / DOLLARS}
    rate = _known(rates, (source.upper(), target.upper()), "rate")
    return f"{amount * rate:.2f} {target.upper()}"


def _plain(name: str) -> str:
    """A name as the tables have it: small letters, one of a kind."""
    return name.strip().lower().rstrip("s")


def _known(table: Mapping[Key, Value], key: Key, what: str) -> Value:
    found = table.get(key)
    if found is None:
        raise ToolFailed(f"there is no {what} {key!r} here")
    return found
