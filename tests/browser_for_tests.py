"""A headless browser for the tests that look at a page; absent, those tests skip and say so."""

import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")


def browse(file: Path, *options: str, seconds: float = 60) -> str:
    """What the browser prints of a page; fails if it is not done in time."""
    still = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    command = [str(CHROMIUM), *still, *options, file.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=True).stdout


def dumped(file: Path, seconds: float = 60) -> str:
    """The DOM as the browser has it."""
    return browse(file, "--dump-dom", seconds=seconds)
