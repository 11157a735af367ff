"""Our ranked measures against trec_eval (through pytrec_eval) on the files that `rag export` writes of real runs.

    python benchmarks/trec_eval.py [RUN ...]

Without runs: the newest of results/ladder (spans) and results/scifact (documents), where they are. Bar: 1e-9.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytrec_eval

from rag.interop.trec import export, read_qrels, read_run
from rag.records import find_run
from rag.scoring import score

REPO = Path(__file__).resolve().parent.parent
Ranked = dict[str, dict[str, float]]
OURS = {"ndcg@10": "ndcg_cut_10", "mrr@10": "recip_rank", "map@100": "map_cut_100", "precision@5": "P_5"}


def compare(folder: Path) -> float:
    run = find_run(folder)
    values = {
        (row["system"], row["corpus_version"], row["question_id"], row["metric"]): row["value"]
        for row in score(run, list(OURS), resamples=0).measurements.to_pylist()
    }
    worst, compared = 0.0, 0
    for system in run.systems:
        for version in run.versions:
            with tempfile.TemporaryDirectory() as out:
                files = {path.suffix: path for path in export(run, Path(out), system, version)}
                ranked, qrels = read_run(files[".run"]), read_qrels(files[".qrels"])
            for metric, theirs in OURS.items():
                found = evaluated(ranked, qrels, theirs)
                for question_id in qrels:
                    other = found.get(question_id, {}).get(theirs, 0.0)
                    worst = max(worst, abs(values[system, version, question_id, metric] - other))
                    compared += 1
    unit = run.manifest["corpus"]["unit"]
    print(f"{run.manifest['experiment']} ({unit}): {compared} values, largest difference {worst:.1e}")
    return worst


def evaluated(ranked: Ranked, qrels: dict[str, dict[str, int]], measure: str) -> Ranked:
    """pytrec_eval's values; `recip_rank` has no cut of its own, so its run is cut at 10."""
    if measure == "recip_rank":
        best = {name: sorted(rows.items(), key=lambda row: -row[1])[:10] for name, rows in ranked.items()}
        ranked = {name: dict(rows) for name, rows in best.items()}
    asked = measure if measure == "recip_rank" else ".".join(measure.rsplit("_", 1))
    result: Ranked = pytrec_eval.RelevanceEvaluator(qrels, {asked}).evaluate(ranked)
    return result


def main() -> int:
    folders = [Path(name) for name in sys.argv[1:]]
    for name in () if folders else ("ladder", "scifact"):
        if (REPO / "results" / name).is_dir():
            folders.append(REPO / "results" / name)
        else:
            print(f"left out: no run in results/{name}")
    return 0 if folders and max(compare(folder) for folder in folders) <= 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
