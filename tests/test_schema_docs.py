"""Docstrings of four styles, tidy and careless, and what is read from them."""

from __future__ import annotations

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from azent.schema.docstrings import Docs, parse_docs

CASES = {
    "google": (
        """Do it.

        Args:
            x (int, optional): The x. Defaults to 5.
            y (dict[str, tuple(int, int)]): The y: with a colon.
            *args: More.
            url: See http://x.y/z: fine.

        Returns:
            str: The text.
        """,
        Docs(
            "Do it.",
            {
                "x": "The x. Defaults to 5.",
                "y": "The y: with a colon.",
                "args": "More.",
                "url": "See http://x.y/z: fine.",
            },
            "The text.",
        ),
    ),
    "google, without empty lines, with a section on what is raised": (
        """Do it.
        Arguments:
          x: The x.

          y: The y, after an empty line.
        Raises:
          ValueError: never mind
        Example:
          >>> do(x=3)
        """,
        Docs("Do it.", {"x": "The x.", "y": "The y, after an empty line."}),
    ),
    "google, lists and paragraphs in a text": (
        """Do it.

        Args:
            mode (str): One of:
                - "fast": quick results
                - "deep": all of them
            depth: How deep: 0 means
                unlimited.
            note: First paragraph.

                Second paragraph.
        """,
        Docs(
            "Do it.",
            {
                "mode": 'One of:\n- "fast": quick results\n- "deep": all of them',
                "depth": "How deep: 0 means unlimited.",
                "note": "First paragraph.\n\nSecond paragraph.",
            },
        ),
    ),
    "google, careless": (
        """Do it.

        Args:
            x - The x.
            y
            `z`: The z.
            - w: The w.
            a, b: Both.
            v:
                On its own line.

        Keyword Args:
            k: The k.
        """,
        Docs(
            "Do it.",
            {
                "x": "The x.",
                "z": "The z.",
                "w": "The w.",
                "a": "Both.",
                "b": "Both.",
                "v": "On its own line.",
                "k": "The k.",
            },
        ),
    ),
    "google, nothing but arguments": (
        """Args:
            x: The x.
            y: The y.
        """,
        Docs("", {"x": "The x.", "y": "The y."}),
    ),
    "google, a longer text before and after": (
        """Do it
        on two lines.

        A paragraph: with a colon.

        Args:
            x: The x.

        Returns:
            A dict with keys: a, b.

        A last word.
        """,
        Docs(
            "Do it\non two lines.\n\nA paragraph: with a colon.\n\nA last word.",
            {"x": "The x."},
            "A dict with keys: a, b.",
        ),
    ),
    "google, sections that are about the whole stay": (
        """Do it.

        Note:
            It is slow.

        Args:
            größe (float): Die Größe.
        """,
        Docs("Do it.\n\nNote:\n    It is slow.", {"größe": "Die Größe."}),
    ),
    "numpy": (
        """Do it.

        More on it.

        Parameters
        ----------
        x, y : float
            Both coordinates,
            in metres.
        mode : {'a', 'b'}, default 'a'
            The mode.
        *args
            More.

        Other Parameters
        ----------------
        k : int
            The k.

        Returns
        -------
        out : float
            The result.

        Examples
        --------
        >>> do(1)
        """,
        Docs(
            "Do it.\n\nMore on it.",
            {
                "x": "Both coordinates, in metres.",
                "y": "Both coordinates, in metres.",
                "mode": "The mode.",
                "args": "More.",
                "k": "The k.",
            },
            "The result.",
        ),
    ),
    "numpy, types of what is returned alone": (
        """Do it.

        Returns
        -------
        float
        """,
        Docs("Do it."),
    ),
    "sphinx": (
        """Do: now.

        See :func:`other`.

        :param x: The x,
            see :ref:`there`.
        :param int y: The y.
        :param str | None z: The z: yes.
        :type x: str
        :keyword k: The k.
        :returns: The text.
        :rtype: str
        :raises OSError: on trouble
        """,
        Docs(
            "Do: now.\n\nSee :func:`other`.",
            {"x": "The x, see :ref:`there`.", "y": "The y.", "z": "The z: yes.", "k": "The k."},
            "The text.",
        ),
    ),
    "epydoc": (
        """Do it.

        @param x: The x,
            on two lines.
        @type x: int
        @return: The text.
        @raise OSError: on trouble

        A last word.
        """,
        Docs("Do it.\n\nA last word.", {"x": "The x, on two lines."}, "The text."),
    ),
    "no style at all": (
        """Send it to someone@param.com: now.

        Warning: it costs money.
        Parse ':param x:' fields.
        """,
        Docs(
            "Send it to someone@param.com: now.\n\n"
            "Warning: it costs money.\nParse ':param x:' fields."
        ),
    ),
    "two styles at once": (
        """Do it.

        Args:
            x: The x.

        :param y: The y.
        """,
        Docs("Do it.", {"x": "The x.", "y": "The y."}),
    ),
    "nothing": ("", Docs()),
}


@pytest.mark.parametrize(("docstring", "docs"), CASES.values(), ids=CASES)
def test_read(docstring: str, docs: Docs) -> None:
    assert parse_docs(inspect.cleandoc(docstring)) == docs


LINES = st.sampled_from(
    [
        "Args:",
        "Returns:",
        "    x: y",
        "    more",
        "Parameters",
        "----",
        ":param x: y",
        "",
        "a b",
        "-",
    ]
)


@given(st.lists(LINES | st.text(max_size=20)).map("\n".join))
def test_no_docstring_raises(docstring: str) -> None:
    docs = parse_docs(docstring)
    assert all(docs.parameters.values())
