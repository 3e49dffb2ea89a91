"""Reading the files of one input: rendering templates, parsing YAML, and merging top-level keys."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solver_mapper.errors import InputError, SourceLocation, did_you_mean
from solver_mapper.io.templates import TemplateOptions, is_template
from solver_mapper.io.templates.files import File, SearchPath, allowed_folders
from solver_mapper.io.yaml.bounded import read_file, read_stream
from solver_mapper.io.yaml.extent import Extents
from solver_mapper.io.yaml.merge_keys import resolved
from solver_mapper.io.yaml.parser import Origin, hint_for, parse_yaml
from solver_mapper.io.yaml.source import (
    Node,
    Scalar,
    Sequence,
    Source,
    Table,
    from_python,
    kind_of,
    same_content,
    to_python,
)
from solver_mapper.io.yaml.warnings import Notes

if TYPE_CHECKING:
    from solver_mapper.io.templates.render import Rendering

_JOINED = (
    "architecture_constraints",
    "arch_constraints",
    "mapspace_constraints",
    "mapspace",
    "constraints",
    "variables",
    "compound_components",
    "primitive_components",
    "components",
)


def read_documents(*sources: Source, options: TemplateOptions | None = None) -> Table:
    """All sources merged by top-level key, as Timeloop does. Where two files define one key, lists
    are joined, and so are the entries of constraints, variables and libraries of components; of
    anything else, equal values count once and different ones are an error.

    Args: paths, open files (text or bytes), mappings of plain Python values, or trees that were
    read before; `options`, what templates among them need.
    Raises: InputError with file, line and column for text that is not YAML, an empty file, a binary
    file, a cyclic anchor, a repeated key, and for templates that cannot be rendered.
    """
    return Reader(sources, options or TemplateOptions()).all(*sources)


class Reader:
    """Reads the files of one input.

    Args: `sources`, all of the input (the folders of its files are those from which templates may
    include others); `options`; `ignore_sparse`, to read sparse designs as dense ones. `notes` has
    the warnings.
    """

    def __init__(
        self,
        sources: tuple[Source, ...] = (),
        options: TemplateOptions | None = None,
        *,
        ignore_sparse: bool = False,
    ):
        self.sources, self.options, self.notes = (
            sources,
            options or TemplateOptions(),
            Notes(ignore_sparse),
        )
        self._extents = Extents()

    def all(self, *sources: Source) -> Table:
        """`sources` merged by top-level key; see `read_documents`."""
        if not sources:
            raise InputError("no input files were given")
        tops = [self.one(source) for source in sources]
        entries: dict[str, Node] = {}
        locations: dict[str, SourceLocation] = {}
        for top in tops:
            for key, node in top.entries.items():
                old = entries.get(key)
                if old is None:
                    entries[key], locations[key] = node, top.key_locations[key]
                else:
                    entries[key] = _joined(key, old, node, locations[key], top.key_locations[key])
        self._note_unused_variables()
        whole = Table(entries, locations, tops[0].location)
        self._extents.check(whole)
        return whole

    def one(self, source: Source) -> Table:
        """The top-level mapping of one source."""
        node: Node
        if isinstance(source, Table):
            node = source
        elif isinstance(source, Mapping):
            try:
                node = from_python(source, SourceLocation("<python>"))
                self._extents.check(node)
                node = resolved(node, self.notes)
            except RecursionError:
                raise InputError("nested too deeply", SourceLocation("<python>")) from None
        else:
            node = self.parse(self._file(source))
        if not isinstance(node, Table):
            raise InputError(
                f"the top level must be a mapping such as 'problem: ...', not {kind_of(node):.60}",
                node.location,
                hint_for(node.location.file),
            )
        return node

    def parse(self, file: File) -> Node:
        """The tree of a file, which is rendered first if it is a template. Raises: InputError."""
        if not is_template(file.name, file.text):
            return parse_yaml(file.text, Origin(file.name), self.notes, self._extents)
        text, positions = self.rendering.render(file)
        origin = Origin(file.name, positions.origin, self.rendering.loaded)
        return parse_yaml(text, origin, self.notes, self._extents)

    @cached_property
    def rendering(self) -> Rendering:
        """Made when the first template is met: most inputs have none, and Jinja2 takes a while to
        load.
        """
        from solver_mapper.io.templates.render import Rendering

        files = [
            Path(source)
            for source in self.sources
            if isinstance(source, (str, Path)) and _is_template_file(Path(source))
        ]
        folders = (Path.cwd(), *(file.parent for file in files))
        texts = [value for value in self.options.variables.values() if isinstance(value, str)]
        named = [
            folder / text
            for text in texts
            for folder in folders
            if text and os.path.isfile(folder / text)
        ]
        return Rendering(
            allowed_folders((*(files or [Path("stdin")]), *named), self.options.include_dirs),
            self.parse,
        )

    def _file(self, source: Any) -> File:
        name, text = _text_of(source)
        own = Path(os.path.realpath(source)) if isinstance(source, (str, Path)) else None
        search = SearchPath(Path.cwd() if own is None else own.parent)
        return File(name, text, search, self.options.variables, () if own is None else (own,))

    @property
    def template_names(self) -> frozenset[str]:
        """The variables that the templates read so far use."""
        return frozenset(self.rendering.names if "rendering" in self.__dict__ else ())

    def _note_unused_variables(self) -> None:
        names = self.template_names
        for name in self.options.variables:
            if name not in names | self.options.used_elsewhere:
                hint = did_you_mean(name, names) if names else "none of the files is a template"
                what = f"no template uses the variable '{name}'" + (f"; {hint}" if hint else "")
                self.notes.add("unused-variable", SourceLocation("-D"), what)


def read_one(source: Source) -> Table:
    """The top-level mapping of one source. Raises: InputError."""
    return Reader((source,)).one(source)


def parse(text: str, name: str) -> Node:
    """One YAML document, not a template, as a `Node`. Raises: InputError with the position of what
    is not YAML.
    """
    return parse_yaml(text, Origin(name), Notes(), Extents())


def _is_template_file(path: Path) -> bool:
    try:
        return path.is_file() and is_template(path.name, read_file(path).decode("utf-8-sig"))
    except (InputError, OSError, ValueError):
        return False


def _joined(
    key: str, old: Node, new: Node, first: SourceLocation, location: SourceLocation
) -> Node:
    if isinstance(old, Sequence) and isinstance(new, Sequence):
        if key == "mapping":
            _refuse_second_mapping(old, new)
        return Sequence(old.items + new.items, old.location, old.tag)
    if key not in _JOINED or not isinstance(old, Table) or not isinstance(new, Table):
        _refuse_second_value(key, old, new, first, location)
        return old
    entries, locations = dict(old.entries), dict(old.key_locations)
    for name, node in new.entries.items():
        if name not in entries:
            entries[name], locations[name] = node, new.key_locations[name]
        elif isinstance(entries[name], Sequence) and isinstance(node, Sequence):
            entries[name] = _joined(
                name, entries[name], node, locations[name], new.key_locations[name]
            )
        elif to_python(entries[name]) != to_python(node):
            raise InputError(
                f"'{name}' of '{key}' is given twice, first at {locations[name]}",
                new.key_locations[name],
                "keep one of them",
            )
    return Table(entries, locations, old.location, old.tag)


def _refuse_second_value(
    key: str, old: Node, new: Node, first: SourceLocation, location: SourceLocation
) -> None:
    """Files of one design may repeat a section (`model: {verbose: true}`): equal values count once.

    Raises: InputError for different values, and for one file that is given twice.
    """
    same = same_content(old, new)
    if not same or (first.file == location.file and location.line is not None):
        values = "" if same else " with different values"
        raise InputError(
            f"'{key}' is given twice{values}, first at {first}", location, "keep one of them"
        )


def _refuse_second_mapping(old: Sequence, new: Sequence) -> None:
    """One mapping may be spread over files, but two directives about the same loops are two
    mappings.
    """
    said = {_directive(item): item.location for item in old.items}
    for item in new.items:
        words = _directive(item)
        if words is not None and words in said:
            raise InputError(
                f"two mappings are given, the other one at {said[words]}",
                item.location,
                "keep one of them; 'compare' shows two side by side",
            )


def _directive(node: Node) -> tuple[str, ...] | None:
    """The target and type of a directive, or None for what is none."""
    words = [node.entries.get(key) for key in ("target", "type")] if isinstance(node, Table) else []
    texts = tuple(word.text for word in words if isinstance(word, Scalar))
    return texts if len(texts) == 2 else None


def _text_of(source: Any) -> tuple[str, str]:
    if isinstance(source, (str, Path)):
        return str(source), _decode(read_file(source), str(source))
    read = getattr(source, "read", None)
    if not callable(read):
        hint = (
            "give each as an argument of its own"
            if isinstance(source, (list, tuple, set))
            else None
        )
        raise InputError(
            f"cannot read from {type(source).__name__}: a path, an open file or a dict is needed",
            hint=hint,
        )
    name = str(getattr(source, "name", "<stream>"))
    content = read_stream(source, name)
    return name, _decode(content, name) if isinstance(content, bytes) else content


def _decode(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        column = error.start - (before.rfind(b"\n") + 1) + 1
        location = SourceLocation(name, before.count(b"\n") + 1, column)
        raise InputError("not a text file in UTF-8", location, "is this a binary file?") from None
