"""A repeated run: what it loads, what it costs beside scoring alone, and whether its records are the same bytes.

    python benchmarks/repeated_run.py [CONFIG] [--repeats 5]

Runs the experiment once to fill the store, then again; bar: at most 1.5 times `rag score` of that run (whole commands,
interleaved, medians), no torch, faiss or scikit-learn imported, every parquet but timings byte-identical.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
HEAVY = ("torch", "faiss", "sklearn", "transformers", "sentence_transformers")
PROBE = (
    "import sys, json; from rag.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    f"sys.stderr.write(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
)


def command(*words: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "rag", *words], cwd=REPO, check=True, capture_output=True)
    return time.perf_counter() - started


def digests(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob("*.parquet"))
        if path.name != "timings.parquet"
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", nargs="?", default="experiments/ladder.yaml")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as results:
        run = ["run", options.config, "--results", results]
        name = next(line.split()[1] for line in (REPO / options.config).read_text().splitlines() if line[:5] == "name:")
        first = command(*run)
        latest = Path(results) / name / "latest"
        before = digests(latest)
        probe = subprocess.run(
            [sys.executable, "-c", PROBE, *run], cwd=REPO, check=True, capture_output=True, text=True
        )
        loaded = json.loads(probe.stderr.splitlines()[-1])
        same = digests(latest) == before
        runs, scores = [], []
        for _ in range(options.repeats):
            time.sleep(1)  # a run id holds its second
            runs.append(command(*run))
            scores.append(command("score", str(latest)))
    ratio = statistics.median(runs) / statistics.median(scores)
    print(f"first run {first:.1f} s; again {statistics.median(runs):.2f} s; score {statistics.median(scores):.2f} s")
    print(f"again / score: {ratio:.2f} (bar: at most 1.5)")
    print(f"heavy imports of the repeated run: {', '.join(loaded) or 'none'}")
    print(f"records byte-identical: {'yes' if same else 'NO'} ({len(before)} files)")
    return 0 if ratio <= 1.5 and same and not loaded else 1


if __name__ == "__main__":
    sys.exit(main())
