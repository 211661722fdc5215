"""The backend of deepagents for E2B."""

from typing import Any

from steps import equal, finish, step

sandbox: Any = None
backend: Any = None


def create() -> None:
    global sandbox, backend
    from e2b import Sandbox
    from langchain_e2b import E2BSandbox

    sandbox = Sandbox.create(timeout=300)
    backend = E2BSandbox(sandbox=sandbox)


def command() -> None:
    result = backend.execute("echo out; echo err >&2; exit 3")
    equal(["out" in result.output, "err" in result.output, result.exit_code], [True, True, 3])


def upload() -> None:
    equal([each.error for each in backend.upload_files([("/tmp/made/a.bin", b"\x00\xff")])], [None])


def missing() -> None:
    equal(backend.download_files(["/tmp/none"])[0].error, "file_not_found")


def edit() -> None:
    equal(backend.edit("/tmp/made/b.txt", "two", "three").error, None)


def content() -> None:
    equal("three" in str(backend.read("/tmp/made/b.txt")), True)


def listed() -> None:
    names = [entry["path"] for entry in backend.ls("/tmp/made").entries]
    equal(sorted(name.rsplit("/", 1)[-1] for name in names), ["a.bin", "b.txt"])


def grep() -> None:
    equal([match["line"] for match in backend.grep("three", "/tmp/made").matches], [2])


def glob() -> None:
    equal(len(backend.glob("*.txt", "/tmp/made").matches), 1)


step("create", create, needed=True)
step("id", lambda: equal(backend.id, sandbox.sandbox_id))
step("command", command)
step("upload", upload)
step("download", lambda: equal(backend.download_files(["/tmp/made/a.bin"])[0].content, b"\x00\xff"))
step("download of a missing file", missing)
step("write", lambda: equal(backend.write("/tmp/made/b.txt", "one\ntwo\n").error, None))
step("edit", edit)
step("read", content)
step("list", listed)
step("grep", grep)
step("glob", glob)
step("kill", lambda: sandbox.kill())
finish()
