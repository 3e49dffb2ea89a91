"""Reading the fields of a YAML mapping: typed, exact, and leaving nothing unread.

Keys match whatever mixture of `-`, `_` and letter case their writer chose (`word-bits`,
`word_bits`, `meshX`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction

from solver_mapper.errors import InputError, SourceLocation, did_you_mean
from solver_mapper.io.yaml.scope import Scope
from solver_mapper.io.yaml.source import Node, Scalar, Sequence, Table, kind_of

_NUMBER = re.compile(r"[+-]?(\d[\d_]*)?(\.\d*)?([eE][+-]?\d+)?", re.ASCII)
_HEXADECIMAL = re.compile(r"[-+]?0[xX][0-9a-fA-F]+(_[0-9a-fA-F]+)*")
_ARITHMETIC = re.compile(r"\w\s*[-+*/%(]|\bspec[.\[]", re.ASCII)
"""What distinguishes arithmetic from a word or a number with a unit."""
_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")
_LONGEST = 200
_IGNORED = "ignore"
_HINTS = 100
"""Only the first ones of a table's unknown fields get a hint: where there are half a million,
looking for near names takes most of the time.
"""


def normal(key: str) -> str:
    """The spelling under which keys are compared."""
    return key.replace("-", "_").lower()


def number_of(node: Node, what: str, scope: Scope | None = None) -> Fraction:
    """The exact value of a decimal number (`0.1` is one tenth), of a hexadecimal one (`0x10`), or
    of arithmetic over the names in `scope`.

    Raises: InputError for anything else, infinities included.
    """
    if isinstance(node, Scalar):
        text = node.text.strip()
        match = _NUMBER.fullmatch(text)
        if (
            match
            and re.search(r"\d", text)
            and len(text) < _LONGEST
            and abs(int((match[3] or "e0")[1:])) < _LONGEST
        ):
            if not node.quoted:
                _refuse_octal(text, what, node.location)
            return Fraction(text.replace("_", ""))
        if _HEXADECIMAL.fullmatch(text) and len(text) < _LONGEST:
            return Fraction(int(text.replace("_", ""), 16))
        if (scope is not None and text in scope) or _ARITHMETIC.search(text):
            return (Scope() if scope is None else scope).evaluate(node, what)
    raise InputError(f"{what} must be a number, not {kind_of(node)}", node.location)


def _refuse_octal(text: str, what: str, location: SourceLocation) -> None:
    """Raises: InputError for a number such as `020`, which is 16 in YAML 1.1 and 20 in YAML 1.2."""
    digits = text.lstrip("+-").replace("_", "")
    if digits.startswith("0") and digits.isdecimal() and int(digits) > 7:
        octal = f" or {int(digits, 8)}" if not set(digits) & {"8", "9"} else ""
        raise InputError(
            f"{what} is '{text}': a number that begins with 0 is octal in YAML 1.1, decimal in"
            " YAML 1.2",
            location,
            f"write {int(digits)}{octal}",
        )


def integer_of(node: Node, what: str, least: int = 0, scope: Scope | None = None) -> int:
    """A whole number of at least `least` (`4.0` counts as 4)."""
    value = number_of(node, what, scope)
    if value.denominator != 1 or value < least:
        raise InputError(
            f"{what} must be a whole number of at least {least}, not {kind_of(node)}", node.location
        )
    return int(value)


def text_of(node: Node, what: str) -> str:
    """The text of a scalar. Raises: InputError for anything else."""
    if isinstance(node, Scalar) and not node.is_null:
        return node.text
    raise InputError(f"{what} must be a word, not {kind_of(node)}", node.location)


def flag_of(node: Node, what: str) -> bool:
    """A truth value. Raises: InputError for anything else."""
    word = node.text.strip().lower() if isinstance(node, Scalar) else ""
    if word in _TRUE or word == "1":
        return True
    if word in _FALSE or word == "0":
        return False
    raise InputError(f"{what} must be true or false, not {kind_of(node)}", node.location)


def table_of(node: Node, what: str) -> Table:
    """A YAML mapping. Raises: InputError for anything else."""
    if isinstance(node, Table):
        return node
    raise InputError(f"{what} must be a mapping, not {kind_of(node)}", node.location)


def sequence_of(node: Node, what: str) -> Sequence:
    """A list; nothing at all counts as an empty one."""
    if isinstance(node, Sequence):
        return node
    if isinstance(node, Scalar) and node.is_null:
        return Sequence((), node.location)
    raise InputError(f"{what} must be a list, not {kind_of(node)}", node.location)


@dataclass(frozen=True, slots=True)
class Question:
    """A reader has asked `fields` for `names` of a `kind`: "integer", "number", "text", "flag",
    "table", "list" or "any".
    """

    fields: Fields
    names: tuple[str, ...]
    kind: str


listener: ContextVar[Callable[[Question], None] | None] = ContextVar("listener", default=None)
"""Who hears every question that readers ask: what the JSON schema is made from."""


class Fields:
    """The fields of one table. Every getter takes one or more accepted spellings; `close` reports
    fields that were not read.

    Args: `table`; `what`, the name of the thing being read, for messages ("buffer 'GLB'"); `exact`,
    for tables whose keys are names of the user's own (dimensions), which must match letter by
    letter; `scope`, the names that arithmetic may use.
    """

    def __init__(self, table: Table, what: str, exact: bool = False, scope: Scope | None = None):
        self.scope = scope
        self._normal: Callable[[str], str] = str if exact else normal
        self.table, self.what, self.location = table, what, table.location
        self._nodes: dict[str, Node] = {}
        self._keys: dict[str, str] = {}
        self._asked: set[str] = set()
        self.exact, self.closed = exact, False
        for key, node in table.entries.items():
            name = self._normal(key)
            if name in self._nodes:
                raise InputError(
                    f"'{key}' and '{self._keys[name]}' are the same field", table.key_locations[key]
                )
            self._nodes[name], self._keys[name] = node, key

    def node(self, *names: str) -> Node | None:
        """The value under the first of `names` that is there; an empty value counts as absent."""
        return self._asked_for("any", names)

    def _asked_for(self, kind: str, names: tuple[str, ...]) -> Node | None:
        hear = listener.get()
        if hear is not None:
            hear(Question(self, names, kind))
        found: Node | None = None
        for name in names:
            self._asked.add(self._normal(name))
            node = self._nodes.get(self._normal(name))
            if (
                found is None
                and node is not None
                and not (isinstance(node, Scalar) and node.is_null)
            ):
                found = node
        return found

    def require(self, *names: str) -> Node:
        """The value of a field. Raises: InputError if it is missing."""
        node = self.node(*names)
        if node is not None:
            return node
        unread = {
            name: (key, location)
            for key, location in self.leftovers()
            for name in [self._normal(key)]
        }
        close = difflib.get_close_matches(self._normal(names[0]), unread, n=1, cutoff=0.7)
        if close:
            key, location = unread[close[0]]
            raise InputError(
                f"{self.what} has no field '{key}'", location, f"did you mean '{names[0]}'?"
            )
        raise InputError(f"{self.what} lacks '{names[0]}'", self.location)

    def has(self, *names: str) -> bool:
        """Whether a field was written."""
        return self.node(*names) is not None

    def location_of(self, *names: str) -> SourceLocation:
        """Where the value of the first of `names` stands, or the table itself."""
        node = self.node(*names)
        return node.location if node is not None else self.location

    def integer(self, *names: str, least: int = 0) -> int | None:
        """A whole number, None if the field is missing."""
        node = self._asked_for("integer", names)
        return (
            None
            if node is None
            else integer_of(node, f"'{names[0]}' of {self.what}", least, self.scope)
        )

    def number(self, *names: str, least: Fraction | int | None = 0) -> Fraction | None:
        """An exact number, None if the field is missing."""
        node = self._asked_for("number", names)
        if node is None:
            return None
        value = number_of(node, f"'{names[0]}' of {self.what}", self.scope)
        if least is not None and value < least:
            raise InputError(
                f"'{names[0]}' of {self.what} must be at least {least}, not {kind_of(node)}",
                node.location,
            )
        return value

    def text(self, *names: str) -> str | None:
        """A word, None if the field is missing."""
        node = self._asked_for("text", names)
        return None if node is None else text_of(node, f"'{names[0]}' of {self.what}")

    def flag(self, *names: str) -> bool | None:
        """A truth value, None if the field is missing."""
        node = self._asked_for("flag", names)
        return None if node is None else flag_of(node, f"'{names[0]}' of {self.what}")

    def table_at(self, *names: str) -> Table | None:
        """A YAML mapping, None if the field is missing."""
        node = self._asked_for("table", names)
        return None if node is None else table_of(node, f"'{names[0]}' of {self.what}")

    def sequence_at(self, *names: str) -> Sequence | None:
        """A list, None if the field is missing."""
        node = self._asked_for("list", names)
        return None if node is None else sequence_of(node, f"'{names[0]}' of {self.what}")

    def ignore(self, *names: str) -> None:
        """Accept fields that have no bearing on any figure."""
        hear = listener.get()
        if hear is not None:
            hear(Question(self, names, "any"))
        self._asked.update(self._normal(name) for name in names)

    @property
    def known(self) -> list[str]:
        """Every name asked for so far, in its normal spelling."""
        return sorted(self._asked)

    def leftovers(self) -> list[tuple[str, SourceLocation]]:
        """The fields that were never asked for, as they were written, but for those whose name says
        that they are ignored.
        """
        names = [name for name in self._nodes if name not in self._asked and _IGNORED not in name]
        return [(self._keys[name], self.table.key_locations[self._keys[name]]) for name in names]

    def close(self) -> None:
        """Raise InputError for fields that were never asked for."""
        self.closed = True
        errors = [
            InputError(
                f"{self.what} has no field '{key}'",
                location,
                did_you_mean(self._normal(key), self._asked) if number < _HINTS else None,
            )
            for number, (key, location) in enumerate(self.leftovers())
        ]
        if errors:
            raise InputError(
                errors[0].message, errors[0].location, errors[0].hint, tuple(errors[1:])
            )
