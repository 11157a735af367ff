"""Names for arrays and for the words that a field may hold."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.signedinteger[Any]]

EmbedKind = Literal["query", "passage"]
BlockKind = Literal["heading", "paragraph", "list", "table", "code", "quote", "html", "rule"]
Need = Literal["all", "any"]
Route = Literal["rag", "tool", "both"]
Split = Literal["dev", "test"]
Expected = Literal["answer", "abstain", "tool"]
Action = Literal["answer", "expand", "abstain"]

PUBLIC = "public"  # the group that every principal holds
