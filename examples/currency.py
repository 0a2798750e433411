"""Currencies: `azent ask "How much is 123.45 USD in EUR?" --tools examples/currency.py`.

The function is the one of AutoGen's notebook on tool use: an `Annotated` amount, a `Literal` of
currencies, defaults.
"""

from typing import Annotated, Literal

CurrencySymbol = Literal["USD", "EUR"]
IN_DOLLARS = {"USD": 1.0, "EUR": 1.1}


def currency_calculator(
    base_amount: Annotated[float, "Amount of currency in base_currency"],
    base_currency: Annotated[CurrencySymbol, "Base currency"] = "USD",
    quote_currency: Annotated[CurrencySymbol, "Quote currency"] = "EUR",
) -> str:
    """Currency exchange calculator."""
    amount = base_amount * IN_DOLLARS[base_currency] / IN_DOLLARS[quote_currency]
    return f"{amount:.2f} {quote_currency}"
