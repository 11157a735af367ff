"""Other people's formats: what is imported becomes a dataset on disk, what is exported is read by other tools."""
