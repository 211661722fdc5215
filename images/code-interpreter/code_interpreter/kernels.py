"""The languages that contexts run: how their kernels start, and how they take variables."""

import json
import os
import shlex
import shutil
import sys
from pathlib import Path

from jupyter_client.kernelspec import KernelSpec

FONTS = Path(__file__).with_name("fonts.conf")
DENO = shutil.which("deno", path=str(Path(sys.executable).parent)) or shutil.which("deno")

_PYTHON = [
    *(sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"),
    *("--InteractiveShell.colors=nocolor", "--PlainTextFormatter.max_seq_length=0"),
    "--IPKernelApp.extra_extensions=code_interpreter.formats",
]
_DENO = [DENO or "deno", "jupyter", "--kernel", "--conn", "{connection_file}"]
_BASH = [sys.executable, "-m", "bash_kernel", "-f", "{connection_file}"]

_COMMANDS = {"python": _PYTHON, "javascript": _DENO, "typescript": _DENO, "bash": _BASH}
_ALIASES = {"js": "javascript", "ts": "typescript"}

LANGUAGES = [name for name, argv in _COMMANDS.items() if argv is not _DENO or DENO]
# Contexts that are there from the start. Their kernels start with their first code.
DEFAULTS = [name for name in ("python", "javascript") if name in LANGUAGES]


def language_of(name: str | None) -> str:
    """Raises ValueError for a language that has no kernel here."""
    text = (name or "python").strip().lower()
    language = _ALIASES.get(text, text)
    if language not in LANGUAGES:
        raise ValueError(f"Language {text[:40]!r} is not supported here: use {', '.join(LANGUAGES)}.")
    return language


def kernel_spec(language: str) -> KernelSpec:
    return KernelSpec(argv=_COMMANDS[language], language=language, display_name=language)


# As `_show_link` of `formats.py` does for Python.
_DENO_OPENING = """{
  const real = Deno.cwd;
  const shown = Deno.env.get('PWD');
  Deno.cwd = process.cwd = () => {
    const at = real();
    try { return shown && Deno.realPathSync(shown) === at ? shown : at; } catch { return at; }
  };
}"""


def opening(language: str) -> str | None:
    """Code that a new kernel runs first."""
    return _DENO_OPENING if _COMMANDS[language] is _DENO else None


def transport(language: str) -> str:
    """Sockets of files, which nothing else in the sandbox sees as open ports. Deno has only TCP."""
    return "tcp" if _COMMANDS[language] is _DENO else "ipc"


def settles_within(language: str) -> float:
    """Seconds. Deno sends its messages in any order: a result may follow the end of its run."""
    return 0.05 if _COMMANDS[language] is _DENO else 0


def kernel_environment(cwd: str) -> dict[str, str]:
    """`pip install` adds to a folder of the user: the kernel's own packages are read-only."""
    packages = Path.home() / ".local/lib/code-interpreter"
    # Python looks in no folder that is not there at its start.
    packages.mkdir(parents=True, exist_ok=True)
    return {
        **({} if Path("/etc/fonts/fonts.conf").exists() else {"FONTCONFIG_FILE": str(FONTS)}),
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",
        "PIP_TARGET": str(packages),
        "PYTHONPATH": str(packages),
        "PWD": cwd,
        "NO_COLOR": "1",
    }


def set_variables(language: str, values: dict[str, str]) -> str:
    if language == "python":
        return f"__import__('os').environ.update({values!r})"
    if language == "bash":
        return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in values.items())
    return f"Object.assign(process.env, {json.dumps(values)}); undefined"


def reset_variables(language: str, names: list[str]) -> str:
    """To what the sandbox has, if it has them."""
    known = {name: os.environ[name] for name in names if name in os.environ}
    other = [name for name in names if name not in os.environ]
    lines = [set_variables(language, known)] if known else []
    if language == "python":
        lines += [f"__import__('os').environ.pop({name!r}, None)" for name in other]
    elif language == "bash":
        lines += [f"unset {name}" for name in other]
    else:
        lines += [f"delete process.env[{json.dumps(name)}];" for name in other]
    return "\n".join(lines)
