"""One client in two forms: `hatch_build.py` writes the sync form from the async one."""
