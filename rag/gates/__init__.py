"""Gates: one a file, found by its name. A gate decides whether to answer; none is built in yet."""
