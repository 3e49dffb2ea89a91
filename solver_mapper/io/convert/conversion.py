"""The answer of `convert`, and the small matters that both directions share."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

_SETS = (
    *("All", "Tensors", "Nothing", "Inputs", "Outputs", "Intermediates", "Shared", "Persistent"),
    *("Other", "Above"),
)
_CONSTANTS = ("null", "true", "false", "yes", "no", "on", "off", "inf", "nan")


@dataclass(frozen=True)
class Conversion:
    """`text` is a YAML file in the other notation. `notes` name the rules by which the two cost
    models differ on this input.
    """

    text: str
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {"yaml": self.text, "notes": list(self.notes)}

    def __str__(self) -> str:
        return self.text.rstrip("\n")


def number(value: Fraction | int) -> str:
    """An exact number as YAML text: a decimal where there is one, else a quotient."""
    value = Fraction(value)
    if value.denominator == 1:
        return str(value.numerator)
    twos = fives = 0
    rest = value.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest > 1:
        return f"{value.numerator} / {value.denominator}"
    locations = max(twos, fives)
    digits = str(abs(value.numerator) * 10**locations // value.denominator).rjust(
        locations + 1, "0"
    )
    sign = "-" if value < 0 else ""
    zeros = len(digits) - len(digits.lstrip("0"))
    if locations > 9 and zeros > 3:
        mantissa = digits.strip("0")
        return f"{sign}{mantissa}e-{locations - (len(digits) - len(digits.rstrip('0')))}"
    return f"{sign}{digits[:-locations]}.{digits[-locations:]}"


def names_for(words: Iterable[str], lower: bool) -> dict[str, str]:
    """A distinct identifier for each word, with a small (or capital) first letter; `_` follows
    where YAML, an expression or a set of LoopTree reads it as something else.
    """
    found: dict[str, str] = {}
    for word in words:
        base = re.sub(r"\W", "_", unicodedata.normalize("NFKC", word)) or "x"
        base = base if base[0].isalpha() else f"x{base}"
        base = base.lower() if lower else base[0].upper() + base[1:]
        if base in _SETS or base.lower() in _CONSTANTS or keyword.iskeyword(base):
            base += "_"
        name, count = base, 2
        while name in found.values():
            name, count = f"{base}_{count}", count + 1
        found[word] = name
    return found
