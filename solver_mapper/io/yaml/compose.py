"""Runs a parser of YAML over a text: libyaml's, which is fast, or PyYAML's own.

Where libyaml refuses a text, PyYAML's parser has the last word: its messages say more. It takes
seconds for each megabyte, so that libyaml's message is the answer for a long text.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import yaml

from solver_mapper.deadline import check_time
from solver_mapper.errors import InputError
from solver_mapper.io.yaml.source import Node

Event = Any
"""A part of a text; the events of the two parsers have no type in common."""
_LONG = 1 << 18
"""Characters of a text that PyYAML's own parser does not read a second time."""
_REST = 1_000
"""Parts of a text that are parsed after the first that the builder refuses."""
_PERIOD = 256
"""Parts of a text between two looks at the clock."""


class Builder(Protocol):
    """Makes a node of the parts of a text."""

    def node(self, event: Event, events: Iterator[Event]) -> Node:
        """The node that begins with `event`; its other parts are taken from `events`."""


def composed(text: str, builder: Callable[[], Builder]) -> Node | None:
    """The one document of `text`, or None if there is none. Each attempt has its own builder.

    Raises: yaml.MarkedYAMLError, yaml.reader.ReaderError, TimeUp, and what the builder raises.
    """
    fast: Any = getattr(yaml, "CSafeLoader", None)
    if fast is not None:
        try:
            return _document(fast(text), builder())
        except (yaml.YAMLError, UnicodeEncodeError) as error:
            if len(text) > _LONG and isinstance(error, yaml.MarkedYAMLError):
                raise
    return _document(yaml.SafeLoader(text), builder())


def _document(parser: Any, builder: Builder) -> Node | None:
    events = _events(parser)
    try:
        next(events)
        start = next(events)
        if isinstance(start, yaml.StreamEndEvent):
            return None
        found = builder.node(next(events), events)
        next(events)
        after = next(events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise yaml.composer.ComposerError(
                "expected a single document in the stream",
                start.start_mark,
                "but found another document",
                after.start_mark,
            )
        return found
    except InputError:
        for _ in itertools.islice(events, _REST):  # what is not YAML at all is said first
            pass
        raise
    finally:
        parser.dispose()


def _events(parser: Any) -> Iterator[Event]:
    """What the parser finds, in the order of the text."""
    for count in itertools.count():
        if count % _PERIOD == 0:
            check_time()
        event = parser.get_event()
        yield event
        if isinstance(event, yaml.StreamEndEvent):
            return
