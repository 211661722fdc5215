"""What an upload of a folder leaves out, beside git."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
from pathlib import Path

import pytest

from porthole._ignore import included

GENERATORS: dict[str, list[str]] = json.loads(
    (Path(__file__).parents[2] / "test/client/support/generator-ignores.json").read_text()
)
NAMES = ("a", "b", "ab", "b.x", ".x", "A", "a b", "[a]", "a-b")
GLOBS = ("a", "b", "b.x", "*", "*.x", "?", "[ab]", "[!a]", "a-*", "\\[a]", "[a-b]b", "a\\ b", "**")


def files_of(root: Path, excludes: tuple[str, ...] = ()) -> list[str]:
    return sorted(path for path in included(root, excludes) if not (root / path).is_dir())


def listed_by_git(root: Path) -> list[str]:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(root),
        "XDG_CONFIG_HOME": str(root / ".git"),
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    subprocess.run(["git", "init", "--quiet", "--template="], cwd=root, env=env, check=True)
    list_files = ["git", "ls-files", "--others", "--cached", "--exclude-standard", "-z"]
    listed = subprocess.run(list_files, cwd=root, env=env, check=True, capture_output=True, text=True)
    return sorted(filter(None, listed.stdout.split("\0")))


def write(root: Path, path: str, content: str = "") -> None:
    """Makes a file, unless a file or a folder has its place."""
    file = root / path
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode())
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        pass


def name_of(line: str) -> str:
    """A name that a line matches."""
    text = re.sub(r"^!|\\", "", line).replace("**", "any/depth")
    text = re.sub(r"\[(.)[^]]*]", r"\1", text).replace("*", "x1").replace("?", "q")
    return "/".join(part for part in text.split("/") if part not in ("", "."))


@pytest.mark.parametrize("generator", GENERATORS)
def test_leaves_out_what_git_does_in_a_generated_project(generator: str, tmp_path: Path) -> None:
    lines = GENERATORS[generator]
    for name in filter(None, map(name_of, lines)):
        for path in (f"{name}/file", f"app/{name}", f"A/{name}x", f".x/y/{name}/z"):
            write(tmp_path, path)
    write(tmp_path, ".gitignore", "\n".join(lines))
    assert files_of(tmp_path) == listed_by_git(tmp_path)


def test_leaves_out_what_git_does_in_random_folders(tmp_path: Path) -> None:
    random_of = random.Random(1)

    def line() -> str:
        globs = random_of.choices(GLOBS, k=random_of.randint(1, 3))
        # git and pathspec differ in what `**/` includes at the end.
        end = "" if globs[-1] == "**" else random_of.choice(("", "", "/"))
        return random_of.choice(("", "", "!")) + random_of.choice(("", "", "/")) + "/".join(globs) + end

    def path() -> str:
        return "/".join(random_of.choices(NAMES, k=random_of.randint(1, 4)))

    def text() -> str:
        return random_of.choice(("\n", "\r\n")).join(line() for _ in range(random_of.randint(1, 4)))

    for number in range(100):
        root = tmp_path / str(number)
        for _ in range(random_of.randint(3, 14)):
            write(root, path())
        for _ in range(random_of.randint(0, 3)):
            write(root, f"{path()}/.gitignore", text())
        write(root, ".gitignore", text())
        assert files_of(root) == listed_by_git(root), f"folder {number}"


def test_reads_portholeignore_and_excludes_last(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", "a/\n")
    write(tmp_path, ".portholeignore", "!a/\n!c\n")
    write(tmp_path, "b/.gitignore", "*\n")
    for path in (".git/config", "a/b/c", "b/c", "b/d"):
        write(tmp_path, path)
    assert files_of(tmp_path) == [".gitignore", ".portholeignore", "a/b/c", "b/c"]
    assert files_of(tmp_path, ("c", ".portholeignore")) == [".gitignore"]
