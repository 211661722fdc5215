"""Runs the Python blocks of all pages: those of a page in order, as one program."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = {
    str(page.relative_to(ROOT)): blocks
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("python/*.md")]
    if (blocks := re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL))
}


@pytest.mark.parametrize("page", PAGES)
def test_runs_the_blocks_of(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "index.html").write_text("Hello")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": page}
    for block in PAGES[page]:
        exec(compile(block, page, "exec"), names)
