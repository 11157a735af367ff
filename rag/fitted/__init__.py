"""What is fitted on questions and used afterwards: files, what they are bound to, and the models inside them.

A component that was fitted (a learned ranker, a calibrated gate) names a file and its sha256 in the experiment. The
file is JSON that a person can read; it says what it was fitted on, and is refused on other stages. Fitting itself is
`rag.fitting`.
"""

from __future__ import annotations

from rag.fitted.binding import Fits, binding, file_faults, fitted_file, foreign, kept_name
from rag.fitted.files import SCHEMA_VERSION, FittedFile, read_fitted, sha256_of, write_fitted
from rag.fitted.learners import Boosted, Logistic, Model, ModelName, fit_model, model_of

__all__ = [
    "SCHEMA_VERSION",
    "Boosted",
    "Fits",
    "FittedFile",
    "Logistic",
    "Model",
    "ModelName",
    "binding",
    "file_faults",
    "fit_model",
    "fitted_file",
    "foreign",
    "kept_name",
    "model_of",
    "read_fitted",
    "sha256_of",
    "write_fitted",
]
