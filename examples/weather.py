"""The weather, made up: `azent ask "What's the weather in London, UK?" -t examples/weather.py`."""

WEATHER = {"London, UK": "12 °C and light rain", "Oslo, Norway": "-3 °C and snow"}


def get_weather(location: str) -> str:
    """Get the current weather at a location.

    Args:
        location: The city and the country, e.g. "Paris, France".
    """
    return WEATHER.get(location, "18 °C and sunny")
