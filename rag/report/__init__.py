"""Pages and figures of runs. The figures are here; the pages come later."""
