"""The checker alone, where only pyyaml is installed: python standalone.py SPEC... FILE

The package's face loads the solver, so this script enters the package without it.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent


def main(words: list[str]) -> int:
    """Exit code 0: the certificate holds; 1: it is refused, and why; 2: it cannot be used."""
    package = types.ModuleType("solver_mapper")
    package.__path__ = [str(PACKAGE)]
    sys.modules["solver_mapper"] = package
    from solver_mapper.errors import InputError
    from solver_mapper.io import bundled
    from solver_mapper.io.timeloop.specification import load
    from solver_mapper.verify.checker import check_certificate

    if len(words) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        spec = load(*bundled.resolve(*words[:-1]))
        check = check_certificate(spec, Path(words[-1]))
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(check)
    return 0 if check.holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
