"""What users read, kept as files beside this one. `UPDATE_GOLDEN=1 pytest` writes them anew; the
diff is then to be read.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent


def check(name: str, text: str) -> None:
    """`text` must be what `name` holds, byte for byte."""
    file = FOLDER / name
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
