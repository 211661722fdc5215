"""Writes the sync client from the async one. `python hatch_build.py` does it in a clone."""

import re
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # A clone without hatchling, and no build.
    BuildHookInterface = object

PACKAGE = Path(__file__).parent / "src" / "porthole"
SYNC = (
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAsync([A-Z]\w*)", r"\1"),
    (r"\b__a(iter|next|enter|exit)__", r"__\1__"),
    (r"\ba(close|read|iter_bytes|closing)\b", r"\1"),
    (r"\bhandle_async_request\b", "handle_request"),
    (r"\b_io_async\b", "_io_sync"),
)


def sync_of(source: str) -> str:
    """The sync form of a module of the async client."""
    for pattern, replacement in SYNC:
        source = re.sub(pattern, replacement, source)
    return source


def write_sync(package: Path = PACKAGE) -> None:
    target = package / "_sync"
    target.mkdir(exist_ok=True)
    for stale in target.glob("*.py"):
        stale.unlink()
    for module in sorted((package / "_async").glob("*.py")):
        header = f"# Written by hatch_build.py from _async/{module.name}.\n"
        (target / module.name).write_text(header + sync_of(module.read_text("utf-8")), "utf-8")


class CustomBuildHook(BuildHookInterface):  # type: ignore[misc, type-arg, unused-ignore]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        write_sync()


if __name__ == "__main__":
    write_sync()
