"""Settings that hold for the whole suite."""

import os
import signal

from hypothesis import settings

settings.register_profile("suite", deadline=None)
settings.load_profile("suite")

# Programs that tests start inherit ignored signals. A runner in the background, or under nohup,
# ignores some of those that tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Programs that tests start keep what Python compiles, so that it is not compiled for each of them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
