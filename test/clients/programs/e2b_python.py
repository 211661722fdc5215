"""E2B's SDK for Python, and the one of the code interpreter, which extends it."""

import importlib
import sys
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from steps import LISTENS, SERVE, body_at, equal, finish, step

module = sys.argv[1]
Sandbox: Any = importlib.import_module(module).Sandbox
is_interpreter = module == "e2b_code_interpreter"
sandbox: Any = None


def fails_with(code: int, command: str) -> None:
    try:
        sandbox.commands.run(command)
    except Exception as error:
        equal(getattr(error, "exit_code", error), code)
    else:
        raise AssertionError("the command did not fail")


def create() -> None:
    global sandbox
    options = {"timeout": 300, "metadata": {"purpose": "matrix"}, "envs": {"FIRST": "1"}}
    sandbox = Sandbox.create("base", **options) if is_interpreter else Sandbox.create(**options)


def background() -> None:
    sleep = sandbox.commands.run("sleep 300", background=True)
    equal(sleep.pid in [each.pid for each in sandbox.commands.list()], True)
    equal(sandbox.commands.kill(sleep.pid), True)


def send_input() -> None:
    head = sandbox.commands.run("head -n 1", background=True, stdin=True)
    sandbox.commands.send_stdin(head.pid, "line\n")
    equal(head.wait().stdout, "line\n")


def terminal() -> None:
    from e2b import PtySize

    output: list[str] = []
    pty = sandbox.pty.create(PtySize(rows=24, cols=80), timeout=30)
    sandbox.pty.send_stdin(pty.pid, b"echo $((6 * 7)); exit\n")
    pty.wait(on_pty=lambda data: output.append(data.decode(errors="replace")))
    equal("42" in "".join(output), True)


def watch() -> None:
    import time

    watching = sandbox.files.watch_dir("folder")
    sandbox.files.write("folder/new.txt", "x")
    for _ in range(100):
        if "new.txt" in [event.name for event in watching.get_new_events()]:
            break
        time.sleep(0.1)
    else:
        raise AssertionError("no event in ten seconds")
    watching.stop()


def download() -> None:
    url = sandbox.download_url("folder/a.txt", use_signature_expiration=60)
    try:
        with urllib.request.urlopen(url) as answer:
            equal(answer.read(), b"hello")
    except urllib.error.HTTPError as error:
        raise AssertionError(f"HTTP {error.code} at {urlsplit(url).path}") from error


def listed() -> None:
    from e2b import SandboxQuery

    found = Sandbox.list(query=SandboxQuery(metadata={"purpose": "matrix"})).next_items()
    equal(sandbox.sandbox_id in [each.sandbox_id for each in found], True)


def connect() -> None:
    again = Sandbox.connect(sandbox.sandbox_id)
    equal(again.commands.run("cat folder/a.txt").stdout, "hello")
    equal(again.files.read("folder/a.txt"), "hello")


def get_host() -> None:
    sandbox.commands.run(SERVE, background=True)
    sandbox.commands.run(LISTENS)
    token = getattr(sandbox, "traffic_access_token", None)
    headers = {} if token is None else {"e2b-traffic-access-token": token}
    equal(body_at(sandbox.get_host(3000), headers), "here\n")


def snapshot() -> None:
    restored = Sandbox.create(sandbox.create_snapshot().snapshot_id, timeout=60)
    equal(restored.files.read("folder/a.txt"), "hello")
    restored.kill()


def pause() -> None:
    (getattr(sandbox, "pause", None) or sandbox.beta_pause)()
    equal(Sandbox.connect(sandbox.sandbox_id).files.read("folder/a.txt"), "hello")


def run_code() -> None:
    sandbox.run_code("x = 6")
    equal(sandbox.run_code("x * 7").text, "42")


if is_interpreter:
    step("create with the default template", lambda: Sandbox.create(timeout=60).kill())
step("create", create, needed=True)
step(
    "command",
    lambda: equal(
        sandbox.commands.run('echo "$FIRST $SECOND"', envs={"SECOND": "2"}).stdout,
        "1 2\n",
    ),
)
step("exit code", lambda: fails_with(3, "echo no >&2; exit 3"))
step("command in the background", background)
step("input", send_input)
step("terminal", terminal)
step("write", lambda: sandbox.files.write("a.txt", "hello"))
step(
    "write of several",
    lambda: sandbox.files.write_files(
        [
            {"path": "made/b.txt", "data": "b"},
            {"path": "made/c.bin", "data": b"\x00\xff"},
        ]
    ),
)
step("read", lambda: equal(sandbox.files.read("a.txt"), "hello"))
step("read of bytes", lambda: equal(bytes(sandbox.files.read("made/c.bin", format="bytes")), b"\x00\xff"))
step("list", lambda: equal(sorted(each.name for each in sandbox.files.list("made")), ["b.txt", "c.bin"]))
step("exists", lambda: equal(sandbox.files.exists("made/none"), False))
step("file information", lambda: equal(sandbox.files.get_info("a.txt").size, 5))
step("make a folder", lambda: equal(sandbox.files.make_dir("folder"), True))
step("rename", lambda: sandbox.files.rename("a.txt", "folder/a.txt"))
step("watch", watch)
step("remove", lambda: sandbox.files.remove("made"))
step("downloadUrl", download)
step("setTimeout", lambda: sandbox.set_timeout(600))
step("getInfo", lambda: equal(sandbox.get_info().metadata["purpose"], "matrix"))
step("list sandboxes", listed)
step("connect", connect)
step("getHost", get_host)
step("getMetrics", lambda: equal(sandbox.get_metrics()[-1].mem_total > 0, True))
step("snapshot", snapshot)
step("pause and connect", pause)
if is_interpreter:
    step("runCode", run_code)
step("kill", lambda: equal(sandbox.kill(), True))
step("kill again", lambda: equal(sandbox.kill(), False))
finish()
