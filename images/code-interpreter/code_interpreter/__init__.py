"""The code interpreter of a sandbox: contexts, each of which is a Jupyter kernel."""
