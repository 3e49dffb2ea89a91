"""Ways in which files get broken: cut off, garbled, lines lost or doubled, values of the wrong
kind.
"""

from __future__ import annotations

from random import Random

_VALUES = (
    "",
    "[]",
    "{}",
    "~",
    "-1",
    "0",
    "1e999999999",
    "1e-400",
    "99999999999999999999999",
    "1" * 5000,
    "nan",
    ".inf",
    "true",
    "'",
    '"',
    "[[[[]]]]",
    "{a: {b: c}}",
    "&a [*a]",
    "*nowhere",
    "!Nothing",
    "!!python/object:os.system x",
    "2 ** 9999",
    "1 / 0",
    "a.b",
    "x" * 3000,
    "M=4",
    "M=4,",
    "P=0,0",
    "*",
    "_",
    "[1, 2",
    "3: 4",
    "\u0661\u0662",
    "\x00",
    "\t",
    "%",
    "@",
    "- -",
    "? x",
    "<<: 3",
    "PE[3..1]",
    "PE[0..",
    "(((((1)))))",
    "lambda: 0",
    "__import__('os')",
    "0x10",
    "1_0",
    "- 1",
    "size * size",
)
_LETTERS = "{}[]:,-#&*!|>'\"%@` \n\tabcMNK019=<_~"


def constraint_violations(text: str, random: Random) -> str:
    """`text` with one to three things wrong."""
    for _ in range(random.randint(1, 3)):
        text = random.choice(
            (
                _cut,
                _garble,
                _lose_line,
                _double_line,
                _shift_line,
                _swap_lines,
                _replace_value,
                _replace_value,
                _replace_key,
                _drop_letter,
            )
        )(text, random)
    return text


def _cut(text: str, random: Random) -> str:
    return text[: random.randint(0, len(text))]


def _garble(text: str, random: Random) -> str:
    position = random.randint(0, len(text))
    return text[:position] + random.choice(_LETTERS) + text[position + random.randint(0, 2) :]


def _drop_letter(text: str, random: Random) -> str:
    position = random.randint(0, len(text))
    return text[:position] + text[position + 1 :]


def _lose_line(text: str, random: Random) -> str:
    lines = text.split("\n")
    del lines[random.randrange(len(lines))]
    return "\n".join(lines)


def _double_line(text: str, random: Random) -> str:
    lines = text.split("\n")
    index = random.randrange(len(lines))
    return "\n".join([*lines[: index + 1], *lines[index:]])


def _shift_line(text: str, random: Random) -> str:
    lines = text.split("\n")
    index = random.randrange(len(lines))
    lines[index] = random.choice(("  " + lines[index], lines[index][2:], "\t" + lines[index]))
    return "\n".join(lines)


def _swap_lines(text: str, random: Random) -> str:
    lines = text.split("\n")
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def _replace_value(text: str, random: Random) -> str:
    """Put something else behind one of the colons."""
    colons = [
        index
        for index, letter in enumerate(text)
        if letter == ":" and text[index + 1 : index + 2] == " "
    ]
    if not colons:
        return text
    start = random.choice(colons) + 2
    ends = [end for end in (text.find(mark, start) for mark in (",", "}", "\n")) if end >= 0]
    return text[:start] + random.choice(_VALUES) + text[min(ends, default=len(text)) :]


def _replace_key(text: str, random: Random) -> str:
    """Misspell one of the keys."""
    colons = [
        index
        for index, letter in enumerate(text)
        if letter == ":" and text[index + 1 : index + 2] == " " and index > 3
    ]
    if not colons:
        return text
    end = random.choice(colons)
    return text[: end - 2] + random.choice(("", "x", "xx", "-", "1", " ")) + text[end:]
