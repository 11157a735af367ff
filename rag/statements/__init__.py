"""What a statement says, as it can be compared with another: words, figures, names, stance, quotations.

Deterministic and without a model, so that the same texts always give the same verdict. Carrying gold between versions
and judging whether a source supports a claim both read statements here; neither's rules stand here.
"""
