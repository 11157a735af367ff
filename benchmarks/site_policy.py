"""The ladder on real documents: GitHub's site policies with hand-made gold, read from ../shared/data.

python benchmarks/site_policy.py [--figure FILE]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
SOURCE = REPO.parent / "shared" / "data" / "github-site-policy"


def main() -> int:
    if not SOURCE.is_dir():
        print(f"skipped: no documents at {SOURCE}")
        return 0
    command = [sys.executable, "-m", "rag", "run", "benchmarks/site_policy.yaml", *sys.argv[1:]]
    return subprocess.run(command, cwd=REPO, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
