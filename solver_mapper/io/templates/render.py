"""Rendering one file, with the functions that Timeloop's front end and AccelForge give to
templates.

include(path, keys="", **variables)      the value under `keys` ("a.b") of another file, which is
rendered and parsed by itself include_all(pattern, keys="")            the same for all files that
match, as a list include_text(path)                       the rendered text of another file
add_to_path(folder)                      look for files in this folder as well path_exists(path),
find_path(path), find_paths(pattern), cwd() setenv(name, value)                      accepted,
without effect: nothing here reads the environment
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Template, TemplateError, TemplateSyntaxError, UndefinedError, nodes, pass_context
from jinja2.runtime import Context

from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.templates.files import AllowedFolders, File, SearchPath, shown
from solver_mapper.io.templates.marking import TemplatePieces, mark_literal, mark_template
from solver_mapper.io.templates.sandbox import OWN_NAMES, FailedAssertion, sandbox
from solver_mapper.io.templates.source_map import Origins, SourceMap, split_marks
from solver_mapper.io.templates.syntax import LOADED_TAG, is_template
from solver_mapper.io.templates.trouble import in_template, undefined_hint, undefined_name
from solver_mapper.io.yaml.bounded import read_file

if TYPE_CHECKING:
    from solver_mapper.io.yaml.source import Node

_LONGEST_OUTPUT = 20_000_000
_MOST_FILES = 2000
_DEEPEST = 50


@dataclass
class Rendering:
    """What rendering one input needs and remembers. `parse` turns a file into its YAML tree (given,
    since it renders in turn).
    """

    allowed: AllowedFolders
    parse: Callable[[File], Node]
    origins: Origins = field(default_factory=Origins)
    loaded: dict[str, Node | list[Node]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    files: int = 0

    def render(self, file: File) -> tuple[str, SourceMap]:
        """The text that `file` renders, and where it comes from. Raises: InputError with the
        position in the template.
        """
        return split_marks(self.marked(file), self.origins, SourceLocation(file.name, 1, 1))

    def marked(self, file: File) -> str:
        """The text that `file` renders, with marks."""
        if not is_template(file.name, file.text):
            return mark_literal(file.text, file.name, self.origins)
        environment = sandbox()
        source = file.text.replace("\r\n", "\n").replace("\r", "\n")
        try:
            tree = environment.parse(source, file.name, file.name)
            self.names |= {node.name for node in tree.find_all(nodes.Name)} - OWN_NAMES
            mark_template(tree, file.name, TemplatePieces(environment, source), self.origins)
            known = environment.make_globals(_Functions(self, file).table())
            template = Template.from_code(
                environment, environment.compile(tree, file.name, file.name), known
            )
            return self._joined(template, file)
        except TemplateSyntaxError as error:
            raise InputError(
                f"not a valid Jinja2 template: {error.message}",
                SourceLocation(file.name, error.lineno),
            ) from None
        except FailedAssertion as error:
            raise InputError(
                f"the template refuses this: {error}", SourceLocation(file.name, error.line)
            ) from None
        except UndefinedError as error:
            name = undefined_name(error)
            raise InputError(
                f"in this template {error.message}",
                in_template(error, file, name),
                undefined_hint(name, file.variables),
            ) from None
        except InputError:
            raise
        except RecursionError:
            raise InputError(
                "the template calls itself without end", SourceLocation(file.name, 1, 1)
            ) from None
        except (
            TemplateError,
            ArithmeticError,
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            OSError,
        ) as error:
            raise InputError(f"the template fails: {error}", in_template(error, file)) from None

    def _joined(self, template: Template, file: File) -> str:
        parts, length = [], 0
        for part in template.generate(dict(file.variables)):
            parts.append(part)
            length += len(part)
            if length > _LONGEST_OUTPUT:
                raise InputError(
                    f"the template renders more than {_LONGEST_OUTPUT:,} characters",
                    SourceLocation(file.name, 1, 1),
                )
        return "".join(parts)

    def opened(
        self,
        path: Path,
        parent: File,
        variables: Mapping[str, Any],
        search: SearchPath,
        location: SourceLocation,
    ) -> File:
        """The file `path` that `parent` includes. Raises: InputError if it must not or cannot be
        read.
        """
        self.allowed.check(path, location)
        self.files += 1
        if path in parent.chain:
            raise InputError(f"'{shown(path)}' includes itself", location)
        if self.files > _MOST_FILES or len(parent.chain) > _DEEPEST:
            raise InputError("too many files are included", location, "does a file include itself?")
        try:
            text = read_file(path).decode("utf-8-sig")
        except InputError as error:
            raise InputError(f"'{shown(path)}': {error.message}", location) from None
        except UnicodeDecodeError:
            raise InputError(f"'{shown(path)}' is not a text file in UTF-8", location) from None
        own = SearchPath(path.parent, tuple(dict.fromkeys((*search.added, search.own))))
        return File(shown(path), text, own, variables, (*parent.chain, path))


class _Functions:
    """The functions that one file's template may call."""

    def __init__(self, rendering: Rendering, file: File):
        self.rendering, self.file, self.search = rendering, file, file.search
        self.location = SourceLocation(file.name, 1, 1)

    def table(self) -> dict[str, Any]:
        named = (
            "include",
            "include_all",
            "include_text",
            "add_to_path",
            "path_exists",
            "find_path",
            "find_paths",
            "cwd",
            "setenv",
        )
        return {name: getattr(self, name) for name in named}

    @pass_context
    def include(
        self,
        context: Context,
        path: Any,
        keys: str = "",
        inherit_parse_data: bool = True,
        **variables: Any,
    ) -> str:
        files = self.matching(path)
        if len(files) > 1:
            raise InputError(
                f"'{path}' names {len(files)} files", self.here(), "use include_all for all of them"
            )
        return self._loaded(
            self._parsed(files[0], self._variables(context, inherit_parse_data, variables)), keys
        )

    @pass_context
    def include_all(
        self,
        context: Context,
        path: Any,
        keys: str = "",
        inherit_parse_data: bool = True,
        **variables: Any,
    ) -> str:
        values = self._variables(context, inherit_parse_data, variables)
        return self._loaded(
            [self._parsed(file, values) for file in self.matching(path, everywhere=True)], keys
        )

    @pass_context
    def include_text(
        self, context: Context, path: Any, inherit_parse_data: bool = True, **variables: Any
    ) -> str:
        values = self._variables(context, inherit_parse_data, variables)
        files = self.matching(path)
        return "\n".join(self.rendering.marked(self._opened(file, values)) for file in files)

    def add_to_path(self, folder: Any) -> str:
        found = self.matching(folder)
        self.search = SearchPath(
            self.search.own, tuple(dict.fromkeys((*self.search.added, *found)))
        )
        return ""

    def path_exists(self, path: Any) -> bool:
        return bool(self.search.matching(str(path)))

    def find_path(self, path: Any) -> str:
        return str(self.matching(path)[0])

    def find_paths(self, path: Any) -> list[str]:
        return [str(each) for each in self.matching(path, everywhere=True)]

    def cwd(self) -> str:
        return str(self.search.own)

    def setenv(self, name: Any, value: Any) -> str:
        return ""

    def here(self) -> SourceLocation:
        """Where the template calls the function that is running."""
        return in_template(None, self.file)

    def matching(self, path: Any, everywhere: bool = False) -> list[Path]:
        patterns = path if isinstance(path, (list, tuple)) else [path]
        found = [
            file for pattern in patterns for file in self.search.matching(str(pattern), everywhere)
        ]
        if not found:
            folders = ", ".join(
                f"'{shown(folder)}'" for folder in dict.fromkeys(self.search.folders)
            )
            raise InputError(
                f"no file '{path}' in {folders}", self.here(), self.search.similar(str(path))
            )
        return list(dict.fromkeys(found))

    def _variables(self, context: Context, inherit: bool, own: dict[str, Any]) -> dict[str, Any]:
        """The values of an included file's variables: those given to this one, those that it has
        set, and `own`.
        """
        seen = context.get_all() if inherit else {}
        inherited = {
            name: value
            for name, value in seen.items()
            if not callable(value) and not name.startswith("_")
        }
        return {**self.file.variables, **inherited, **own}

    def _opened(self, path: Path, variables: dict[str, Any]) -> File:
        return self.rendering.opened(path, self.file, variables, self.search, self.here())

    def _parsed(self, path: Path, variables: dict[str, Any]) -> Node:
        return self.rendering.parse(self._opened(path, variables))

    def _loaded(self, content: Node | list[Node], keys: str) -> str:
        name = f"included_{len(self.rendering.loaded)}"
        self.rendering.loaded[name] = content
        return f"{LOADED_TAG} {name}" + (f".{keys.lstrip('.')}" if keys else "")
