"""What there is to fit: which systems have something that learns, and which of their stages is meant."""

from __future__ import annotations

from typing import Literal

from rag.errors import Fault, InputError, nearest
from rag.fitted import Fits
from rag.runner import Job
from rag.systems import System, fitted_faults

Stage = Literal["reranker", "retriever"]
FUSION = "fusion-weights"


def fitted_kind(system: System) -> dict[Stage, str]:
    """What of a system can be fitted: stage -> kind of fitted file, the reranker first."""
    kinds: dict[Stage, str] = {}
    if isinstance(system.reranker, Fits) and hasattr(system.reranker, "train"):
        kinds["reranker"] = system.reranker.kind
    fusion = getattr(system.retriever, "fusion", None)
    legs = getattr(system.retriever, "of", ())
    if getattr(fusion, "use", None) == "convex" and len(legs) > 1 and hasattr(system.retriever, "fused"):
        kinds["retriever"] = FUSION
    return kinds


def chosen_stage(job: Job, name: str | None, stage: Stage | None) -> tuple[System, Stage]:
    """The system and the stage to fit.

    Args:
        job: As `prepare(path, fitted=False)` gives it.
        name: An arm; None is the one whose reranker learns, or the only one that has anything to fit.
        stage: None is the reranker where it learns.

    Raises:
        InputError: There is no such system, it has nothing to fit, or several have and none is named.
    """
    file = str(job.experiment.file)
    able = {one.name: one for one in job.experiment.systems if fitted_kind(one)}
    hint = "a system learns with `reranker: {use: learned}`, or `fusion: {use: convex}` in a hybrid of several legs"
    if name is None:
        if not able:
            raise InputError(Fault("no system has anything to fit", file=file, path="systems", hint=hint))
        rankers = [one for one, system in able.items() if "reranker" in fitted_kind(system)]
        able = {one: able[one] for one in rankers or able}
        if len(able) > 1:
            raise InputError(
                Fault("several systems have something to fit", file=file, path="systems",
                      must_be="one, named by --system", got=", ".join(able))
            )  # fmt: skip
        name = next(iter(able))
    if name not in able:
        known = [one.name for one in job.experiment.systems]
        if name not in known:
            raise InputError(Fault(f"no system is named {name!r}", file=file, hint=nearest(name, known)))
        raise InputError(Fault("nothing to fit", file=file, path=f"systems.{name}", hint=hint))
    system = able[name]
    if system.index_version is not None:
        raise InputError(Fault("an index that was not built again cannot be fitted on", file=file,
                               path=f"systems.{name}.index_version", hint="fit the system without it"))  # fmt: skip
    kinds = fitted_kind(system)
    if stage is None:
        return system, next(iter(kinds))
    if stage not in kinds:
        raise InputError(
            Fault(f"its {stage} has nothing to fit", file=file, path=f"systems.{name}.{stage}",
                  must_be=" or ".join(kinds), got=stage)
        )  # fmt: skip
    return system, stage


def need_sound_before(system: System, stage: Stage) -> None:
    """What comes before the stage must be usable; the stage itself is about to be fitted."""
    order: list[str] = ["chunker", "retriever", "reranker"]
    earlier = order[: order.index(stage)]
    faults = [fault for seam, fault in fitted_faults(system) if seam in earlier]
    if faults:
        raise InputError(faults)
