"""Where the answer of a command goes: standard output, a folder, a report, charts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from solver_mapper.cli.output import Printable, deliver, need_folder, print_result
from solver_mapper.cli.pictures import REPORT, Pictures, Warned, pictures
from solver_mapper.cli.written import check_written
from solver_mapper.errors import InputError


@dataclass(frozen=True)
class Destination:
    """What `-o`, `--html`, `--plot` and `--json` say."""

    folder: Path | None
    pictures: Pictures
    as_json: bool

    def prepare(
        self,
        kind: type,
        read: Sequence[str],
        names: Sequence[str] = (),
        others: Mapping[str, Path | None] = MappingProxyType({}),
    ) -> None:
        """Make sure, before a search, that all files can be written, and that none overwrites
        another one or the input.

        Args: `kind`, the type of the result, which must have the charts; `read`, the words that
        name the input; `names`, patterns of the files that are written into the folder, beside the
        report; `others`, files of further options, by option.
        Raises: InputError.
        """
        self.pictures.check(kind)
        files = [*self.pictures.files(), *others.items()]
        check_written(files, read, self.folder, (REPORT, *names))
        if self.folder is not None:
            need_folder(self.folder)

    def deliver(
        self,
        result: Printable,
        read: Sequence[str],
        warned: Warned | None,
        write: Callable[[Path], None],
        lost: InputError | None = None,
    ) -> None:
        """Print `result`, then write what was asked for: `write` puts its files into the folder.

        `read` are the files of the input, `warned` has its warnings: a report shows both. `lost`:
        what could not be written before.
        Raises: as `cli.output.deliver`.
        """

        def write_all() -> None:
            if self.folder is not None:
                write(self.folder)
            self.pictures.write(result, self.folder, read, warned)

        deliver(lambda: print_result(result, self.as_json), write_all, lost)


def destination(
    folder: Path | None, html: Path | None, plots: Sequence[str] | None, as_json: bool
) -> Destination:
    """The options as one record, checked before a search begins. Raises: as `pictures`."""
    return Destination(folder, pictures(html, plots), as_json)
