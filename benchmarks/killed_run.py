"""SIGKILL at ten random moments, run again each time: the records equal those of an unbroken run.

    python benchmarks/killed_run.py [CONFIG] [--kills 10] [--seed 7]

Two stores, both empty at first. In one the experiment runs unbroken; in the other it is killed again and again at
moments drawn over the unbroken run's length, and then left to finish. Every parquet but timings is compared.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from repeated_run import REPO, command, digests


def killed_after(seconds: float, words: list[str]) -> bool:
    """Start the command and kill it; False where it had finished by then."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rag", *words], cwd=REPO, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return True
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", nargs="?", default="experiments/ladder.yaml")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    moments = random.Random(options.seed)  # noqa: S311
    name = next(line.split()[1] for line in (REPO / options.config).read_text().splitlines() if line[:5] == "name:")
    with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as broken:
        length = command("run", options.config, "--results", whole)
        print(f"unbroken: {length:.1f} s")
        kills = 0
        for _ in range(options.kills):
            seconds = moments.uniform(0.3, length / 2)
            hit = killed_after(seconds, ["run", options.config, "--results", broken])
            kills += hit
            visible = [path.name for path in Path(broken).glob(f"{name}/*") if not path.name.startswith(".")]
            state = "killed" if hit else "had finished"
            print(f"  {state} at {seconds:5.1f} s; visible runs: {', '.join(visible) or 'none'}", flush=True)
            time.sleep(1)
        command("run", options.config, "--results", broken)
        same = digests(Path(whole) / name / "latest") == digests(Path(broken) / name / "latest")
        hidden = [path.name for path in Path(broken).glob(f"{name}/.*")]
    print(f"{kills} kills; records equal to the unbroken run's: {'yes' if same else 'NO'}")
    print(f"hidden folders left behind: {', '.join(hidden) or 'none'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
