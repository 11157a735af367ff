"""What learning to rank brings: SciFact's training claims cross-fitted, the handbook's ladder, the site policies.

    python benchmarks/learned_ranker.py [folder with SciFact's BEIR files] [--only scifact|handbook|site-policy]

SciFact: every claim is a dev question, ranked by models that have not seen it (five folds, dealt five times); the bar
is `blend` less .005, and the standard error of a mean over 809 claims is .013, so no more than "not worse" is shown.
The handbook and the site policies: the last rung of the ladder, its reranker replaced by learned ones. They are learnt
of the handbook's dev questions; `dev` is cross-fitted there, `test` is the handbook's other half, and the site policies
are documents that nothing was learnt of (they have no dev questions). The first run embeds SciFact's 5,183 abstracts:
about ten minutes on two cores.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rag.errors import RagError
from rag.fitted import write_fitted
from rag.fitting import Fit, beside, fit
from rag.interop.beir import import_beir
from rag.protocols import Silent
from rag.runner import prepare
from rag.store import Store

REPO = Path(__file__).resolve().parent.parent
RESULTS = REPO / "results"
MADE = RESULTS / ".benchmarks"
DATA = REPO.parent / "shared" / "data"
MARGIN = 0.005
MODELS = ("logistic", "boosted")
LADDER = """\
name: {name}
dataset: {dataset}
versions: [{version}]
systems:
  + headings:                       # the last rung of the ladder: blend
    chunker: {{use: heading, min_tokens: 300, max_tokens: 800}}
    retriever: {{use: hybrid, of: [{{use: dense}}, {{use: bm25}}], fusion: {{use: rrf, k: 60}}}}
    reranker: {{use: late-interaction, blend: true}}
    context: {{neighbours: true}}
  logistic:
    extends: + headings
    reranker: {{use: learned, model: logistic, features: {{use: late-interaction}}{logistic}}}
  boosted:
    extends: + headings
    reranker: {{use: learned, model: boosted, features: {{use: late-interaction}}{boosted}}}
defaults: {{depth: 100, candidates: 20}}
metrics: [{metric}]
"""


def main() -> int:
    words = sys.argv[1:]
    only = words[words.index("--only") + 1] if "--only" in words else None
    folders = [word for at, word in enumerate(words) if not word.startswith("--") and words[at - 1 : at] != ["--only"]]
    source = Path(folders[0]) if folders else DATA / "scifact-train"
    failed = False
    MADE.mkdir(parents=True, exist_ok=True)
    with Store(RESULTS / ".store" / "store.sqlite") as store:
        if only in (None, "scifact"):
            failed |= scifact(source, store)
        if only in (None, "handbook", "site-policy"):
            files = handbook(store)
    if only in (None, "handbook"):
        ladder("learned-handbook", REPO / "datasets" / "handbook", "latest", files)
    if only in (None, "site-policy"):
        policies = source.parent / "github-site-policy"
        if policies.is_dir():
            print("\nsite-policy: learnt of the handbook; it has no dev questions")
            ladder("learned-site-policy", policies, "2023-12-31", files)
        else:
            print(f"\nskipped: no documents at {policies}")
    return int(failed)


def scifact(source: Path, store: Store) -> bool:
    """Whether a model falls below the bar."""
    if not source.is_dir():
        print(f"skipped: no BEIR files at {source}")
        return False
    dataset = MADE / "scifact-dev"
    if not (dataset / "dataset.yaml").is_file():
        import_beir(source, dataset, split="dev", name="scifact-dev")
    job = prepare(REPO / "benchmarks" / "learned_scifact.yaml", fitted=False)
    below = False
    for model in MODELS:
        found = fit(job, store, Silent(), system=model, stage="reranker")
        learned, blend = found.values["learned"], found.values["blend"]
        error = learned.std(ddof=1) / len(learned) ** 0.5
        bar = blend.mean() - MARGIN
        below |= bool(learned.mean() < bar)
        verdict = "at or above" if learned.mean() >= bar else "BELOW"
        print(f"\nSciFact, {model}: nDCG@10 {learned.mean():.4f}, standard error {error:.3f}; blend {blend.mean():.4f}")
        print(f"  {verdict} the bar of blend - {MARGIN} = {bar:.4f}")
        told(found)
    print("\nSciFact, weights of a convex fusion of dense and bm25, before reranking:")
    told(fit(job, store, Silent(), system="convex"))
    return below


def handbook(store: Store) -> dict[str, tuple[Path, str]]:
    """The fitted files of both models, learnt of the handbook's dev questions."""
    path = experiment("learned-handbook", REPO / "datasets" / "handbook", "latest", {})
    files = {}
    for model in MODELS:
        for metric in ("ndcg@10", "recall@5"):
            found = fit(prepare(path, fitted=False), store, Silent(), system=model, metric=metric)
            print(f"\nhandbook dev, {model}, {metric}: ", end="")
            told(found)
        file = MADE / f"learned-{model}.json"
        files[model] = (file, write_fitted(file, found.fitted))
    return files


def experiment(
    name: str, dataset: Path, version: str, files: dict[str, tuple[Path, str]], metric: str = "ndcg@10"
) -> Path:
    """An experiment file of the last rung and the learned ones."""
    path = MADE / f"{name}.yaml"
    said = {
        model: f", file: {beside(files[model][0], path)}, sha256: {files[model][1]}" if files else ""
        for model in MODELS
    }
    text = LADDER.format(name=name, dataset=beside(dataset, path), version=version, metric=metric, **said)
    path.write_text(text, encoding="utf-8")
    return path


def ladder(name: str, dataset: Path, version: str, files: dict[str, tuple[Path, str]]) -> None:
    """Test questions: paired gains over the last rung, by both metrics."""
    path = experiment(name, dataset, version, files, "ndcg@10, recall@5, recall@context")
    print(f"\n{name}, test questions", flush=True)
    subprocess.run([sys.executable, "-m", "rag", "run", str(path)], cwd=REPO, check=True, stderr=subprocess.DEVNULL)
    for metric in ("recall@5", "recall@context"):
        command = [sys.executable, "-m", "rag", "score", str(RESULTS / name), "--metric", metric]
        subprocess.run(command, cwd=REPO, check=True, stderr=subprocess.DEVNULL)


def told(found: Fit) -> None:
    """The scores of a fit, and the paired differences."""
    for score in found.scores:
        interval = f" [{score.low:.4f}, {score.high:.4f}]" if score.low is not None else ""
        print(f"  {score.name} {score.value:.4f}{interval}" + (" cross-fitted" if score.cross_fitted else ""), end=";")
    for name, one in found.differences:
        interval = f" [{one.low:+.4f}, {one.high:+.4f}]" if one.low is not None else ""
        print(f" minus {name} {one.value:+.4f}{interval}", end=";")
    print(" by deal " + ", ".join(f"{mean:.4f}" for mean in found.by_seed), end="")
    print(f"; weights {found.weights}" if found.weights else "")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RagError as error:
        sys.exit(str(error))
