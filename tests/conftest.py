"""Settings that hold for the whole suite."""

import os
import signal

import pytest
from hypothesis import settings

from tests.campaigns import part_of

settings.register_profile("suite", deadline=None)
settings.load_profile("suite")

# Programs that tests start inherit ignored signals. A runner in the background, or under nohup,
# ignores some of those that tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Programs that tests start keep what Python compiles, so that it is not compiled for each of them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--part K/N`: one of several parts of the tests that are selected."""
    parser.addoption("--part", metavar="K/N", help="run every Nth of the tests, from the Kth on")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the part that `--part` asks for of the tests that marks and names select."""
    part = config.getoption("--part")
    if part:
        chosen = part_of(items, part)
        config.hook.pytest_deselected(items=[each for each in items if each not in set(chosen)])
        items[:] = chosen
