"""The sync client against a real host; `test_async_client` has what differs there."""

from __future__ import annotations

import os
import tempfile
import threading
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import SERVE

import porthole as package
from porthole import CommandFailed, Porthole, PortholeError, Run, connect_from_config
from porthole.types import PageCheck, SandboxInfo


def test_shows_a_folder_as_a_live_preview(app: str) -> None:
    run = package.run()
    run.upload(app)
    server = run.serve(SERVE, port=3000)
    preview = server.preview()
    assert "-preview.localhost:" in str(preview)
    assert preview.url not in repr(preview)
    assert preview.fetch("/here?a=1").text == "GET /here?a=1 "
    assert preview.fetch(method="POST", content="sent").text == "POST / sent"
    redirected = preview.fetch("/old")
    assert (redirected.text, str(redirected.url)) == ("GET /new ", f"{preview.url.rstrip('/')}/new")
    preview.sharing.set_access("owner")
    assert preview.fetch("/mine", method="POST", content="sent", headers={"a": "b"}).text == "POST /mine sent"
    assert preview.fetch("/mine").text == "GET /mine "
    assert [entry["name"] for entry in run.files.list()["entries"] if entry["name"].endswith(".log")] == []
    assert run.files.text("pages/ä b.txt") == "nested"
    assert [each.port for each in run.previews()] == [3000]
    assert package.run(run.id).sandbox.id == run.sandbox.id
    preview.stop()
    assert run.previews() == []


def test_lets_others_in_by_level_name_and_link(porthole: Porthole, app: str) -> None:
    run = porthole.run()
    run.upload(app)
    preview = run.serve(SERVE, port=3000).preview()
    sharing = preview.sharing
    assert sharing.access() == {"level": "link", "maximum": "link", "name": None, "url": None}
    assert (sharing.get_pass(), sharing.links(), sharing.viewers()) == (None, [], [])

    named = sharing.set_access("org", name="python-demo")
    assert (named["level"], named["name"]) == ("org", "python-demo")
    assert httpx.URL(named["url"] or "").host == "python-demo-preview.localhost"
    assert sharing.set_access("password", password="open sesame")["name"] == "python-demo"
    assert sharing.set_access("owner", name="")["name"] is None
    assert isinstance(sharing.get_pass(), str)
    with pytest.raises(PortholeError, match="at least 8 characters"):
        sharing.set_access("password", password="short")

    link = sharing.create_link("for carol", expires_in=3_600, max_uses=1, may_wake=True)
    assert (link["label"], link["level"], link["max_uses"], link["may_wake"]) == ("for carol", "link", 1, True)
    opened = httpx.URL(link["url"])
    link_id, secret = opened.fragment.split(".")
    asked = {"preview": opened.params["preview"], "link": link_id, "secret": secret}
    page = httpx.URL(porthole.url).join("api/open")
    entry = httpx.post(page, json=asked).json()
    # As a browser does: the ticket goes to the host of the preview.
    entered = preview._http.previews.post(
        entry["enter_url"], data={"ticket": entry["ticket"], "path": "/"}, follow_redirects=False
    )
    assert entered.status_code == 303
    same = porthole.sharing(preview.info["session_id"])
    assert [(each["id"], each["uses"]) for each in same.links()] == [(link_id, 1)]
    assert [each["link_id"] for each in same.viewers()] == [link_id]
    assert "url" not in same.links()[0]
    sharing.revoke_link(link_id)
    assert sharing.links() == []
    assert httpx.post(page, json=asked).status_code == 403
    preview.stop()


def test_repairs_an_app_with_what_check_finds(porthole: Porthole) -> None:
    run = porthole.run()
    broken = '"use strict";\ndocument.body.append(nme);\n'
    page = '<!doctype html><title>App</title><body><h1>Hello</h1><script src="app.js"></script>'
    run.upload({"index.html": page, "app.js": broken})
    run.serve(["python3", "-m", "http.server", "3100"], port=3100).preview()
    try:
        found = run.check(3100)
    except PortholeError as error:
        if error.code == "browser_missing":
            pytest.skip(error.message)
        raise
    assert found["result"] == "broken"
    assert found.keys() >= PageCheck.__required_keys__ > {"causes", "notes"}
    cause = found["causes"][0]
    assert (cause["file"], cause["line"]) == ("app.js", 2)
    run.files.write("app.js", broken.replace("nme", '"Ada"'))
    assert run.check(3100)["result"] == "works"


def test_says_what_a_failed_server_printed_last(porthole: Porthole) -> None:
    server = porthole.run().serve('echo "no such module" >&2; exit 1', port=3000, restart="never")
    with pytest.raises(PortholeError, match="Its last lines:\n  no such module") as caught:
        server.preview()
    assert caught.value.code == "server_failed"


def test_asks_the_owner_for_a_preview_of_the_agent(porthole: Porthole, app: str) -> None:
    run = porthole.run()
    run.upload(app)
    run.serve(SERVE, port=3000)
    agent = Porthole(api_key=run.agent_token).agent_run(run.id)
    opened: list[Any] = []
    opening = threading.Thread(target=lambda: opened.append(agent.preview(3000)))
    opening.start()
    for event in run.events():
        if event["type"] == "tool.approval_required":
            assert [each["request_id"] for each in run.approvals()] == [event["data"]["request_id"]]
            run.approve(event["data"]["request_id"])
            break
    opening.join()
    assert opened[0].fetch("/agent").text == "GET /agent "
    opened[0].let_go()


def test_passes_a_denial_to_the_agent(porthole: Porthole) -> None:
    run = porthole.run()
    agent = Porthole(api_key=run.agent_token).agent_run(run.id)
    caught: list[PortholeError] = []

    def ask() -> None:
        try:
            agent.preview(3000)
        except PortholeError as error:
            caught.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    for event in run.events():
        if event["type"] == "tool.approval_required":
            run.deny(event["data"]["request_id"], "not now")
            break
    asking.join()
    assert (caught[0].code, caught[0].status, caught[0].retryable) == ("approval_denied", 403, False)
    assert "not now" in caught[0].message


def test_reads_a_command_as_it_runs(run: Run) -> None:
    events = list(run.exec("echo out; echo err >&2; exit 3"))
    assert b"".join(event.data for event in events if event.type == "stdout") == b"out\n"
    assert b"".join(event.data for event in events if event.type == "stderr") == b"err\n"
    assert (events[-1].type, events[-1].exit_code) == ("exit", 3)
    assert run.exec(["printf", "%s", "a b"]).text() == "a b"
    result = run.exec("head -c 100 /dev/zero").collect(max_bytes=10)
    assert (len(result.stdout), result.truncated) == (10, True)
    with pytest.raises(CommandFailed, match="sh ended with code 2: gone") as caught:
        run.exec("echo gone >&2; exit 2").text()
    assert caught.value.exit_code == 2
    command = run.exec("true")
    command.collect()
    with pytest.raises(RuntimeError, match="read once"):
        command.collect()


def test_ends_a_command_after_its_timeout(run: Run) -> None:
    assert run.exec("sleep 60", timeout=0.2).collect().exit_code == 124


def test_keeps_a_session_between_commands(run: Run) -> None:
    run.files.write("deep/a.txt", "")
    session = run.sandbox.create_session(cwd="deep", env={"NAME": "Ada"})
    assert run.exec('echo "$NAME"; ls', session=session).text().splitlines() == ["Ada", "a.txt"]
    run.sandbox.delete_session(session)


def test_follows_a_process_and_answers_it(run: Run) -> None:
    greeter = run.processes.start('read name; echo "hello $name"; exit 4', stdin=True, name="greeter")
    assert [each.id for each in run.processes.list()] == [greeter.id]
    greeter.input("Ada\n", eof=True)
    events = list(greeter.output())
    assert b"".join(event.data for event in events) == b"hello Ada\n"
    assert events[-1].exit is not None and events[-1].exit["code"] == 4
    rest = list(greeter.output(since=events[0].cursor, follow=False))
    assert [event.type for event in rest] == ["exit"]
    assert greeter.wait()["code"] == 4
    greeter.remove()
    with pytest.raises(PortholeError) as caught:
        run.processes.get(greeter.id)
    assert (caught.value.code, caught.value.status) == ("process_not_found", 404)


def test_waits_for_a_process_and_for_a_port(run: Run) -> None:
    sleeper = run.processes.start(["sleep", "60"])
    with pytest.raises(PortholeError) as caught:
        sleeper.wait(timeout=0.1)
    assert caught.value.code == "wait_timed_out"
    sleeper.signal("SIGKILL")
    assert sleeper.wait()["signal"] == "SIGKILL"
    run.servers.declare("files", ["python3", "-m", "http.server", "4321"], port=4321)
    state = run.ports.wait(4321)
    assert state["listener"] is not None and state["listener"]["server"] == "files"
    assert [each["name"] for each in run.servers.list()] == ["files"]
    assert run.servers.stop("files")["state"] == "stopped"
    run.servers.remove("files")


def test_changes_files(run: Run) -> None:
    run.files.upload({"a/one.txt": "one", "a/two.bin": b"\x00\xff"}, to="/workspace/files")
    assert run.files.bytes("files/a/two.bin") == b"\x00\xff"
    run.files.move("files/a/one.txt", "files/b#1.txt")
    assert run.files.text("/workspace/files/b#1.txt") == "one"
    with pytest.raises(PortholeError) as caught:
        run.files.text("files/a/one.txt")
    assert (caught.value.status, caught.value.retryable) == (404, False)
    assert b"".join(run.files.download("/workspace/files"))[257:262] == b"ustar"
    run.files.make_folder("files/empty/below")
    listed = run.files.list("files", depth=3, skip=["empty"])["entries"]
    assert "empty" not in [each["name"] for each in listed]
    assert run.files.search("ONE", "files") == {
        "matches": [{"path": "/workspace/files/b#1.txt", "line": 1, "text": "one"}],
        "truncated": False,
    }
    run.files.delete("files", recursive=True)
    large = b"x" * (33 * 1_048_576)
    run.files.write("large/bytes.bin", large)
    with tempfile.TemporaryFile() as file:
        file.write(large)
        file.seek(0)
        run.files.write("/workspace/large/a file.bin", file)
    sizes = {each["name"]: each["size"] for each in run.files.list("large")["entries"]}
    assert sizes == {"bytes.bin": len(large), "a file.bin": len(large)}
    run.files.delete("large", recursive=True)
    with pytest.raises(ValueError, match="without"):
        run.files.write("../etc/passwd", "")


def test_watches_a_folder(run: Run) -> None:
    for change in run.files.watch():
        if change["type"] == "ready":
            run.files.write("watched.txt", "1")
        elif change["path"].endswith("watched.txt"):
            break


def test_hands_part_of_a_sandbox_to_a_server(porthole: Porthole, run: Run) -> None:
    url = run.sandbox.dataplane_url.split("v1/")[0]
    delegation = run.sandbox.delegate(["fs:read", "exec"], commands=["cat"], label="the agent")
    assert [each["label"] for each in run.sandbox.delegations()] == ["the agent"]
    run.files.write("shared.txt", "shared")
    delegated = connect_from_config({"config": delegation.sandbox_config()}, allowed_url=url)
    assert delegated.exec(["cat", "shared.txt"]).text() == "shared"
    with pytest.raises(PortholeError) as caught:
        delegated.files.write("shared.txt", "changed")
    assert caught.value.status == 403
    with pytest.raises(ValueError, match="not called"):
        connect_from_config(delegation.sandbox_config(), allowed_url="http://127.0.0.1:1")
    token = delegation.token
    delegation.renew()
    delegation.revoke()
    with pytest.raises(PortholeError) as caught:
        delegated.files.text("shared.txt")
    assert caught.value.code == "unauthorized" and token not in caught.value.message


def test_lists_who_has_a_shared_run_open(run: Run) -> None:
    assert run.share("view")["sharing"] == "view"
    assert run.viewers() == []
    address = f"{os.environ['PORTHOLE_URL']}/api/runs/{run.id}/viewers"
    authorization = f"Bearer {os.environ['PORTHOLE_API_KEY']}"
    httpx.put(address, headers={"authorization": authorization}).raise_for_status()
    assert run.viewers() == [{"user": "alice", "is_you": True}]
    assert run.share("private")["sharing"] == "private"


def test_deletes_a_sandbox_at_the_end_of_its_block(porthole: Porthole) -> None:
    with porthole.sandboxes.create(
        tags={"thread": "42", "kind": "a"}, ttl_seconds=60, timeout_seconds=90, on_exit="delete"
    ) as box:
        info = box.refresh()
        assert info.keys() >= SandboxInfo.__required_keys__
        assert (info["state"], info["stop_reason"]) == ("running", None)
        assert SandboxInfo.__optional_keys__ == {"stop_reason"}
        found = [each.id for each in porthole.sandboxes.list(tags={"thread": "42", "kind": "a"})]
        assert found == [box.id]
        assert [each.id for each in porthole.sandboxes.list(tags={"thread": "42", "kind": "b"})] == []
        assert [each.id for each in porthole.sandboxes.list(search=box.id.upper(), sort="oldest")] == [box.id]
        assert list(porthole.sandboxes.list(search=box.id, created_after=datetime(2200, 1, 1, tzinfo=timezone.utc))) == []
        run = porthole.run(title="Listed by search", sandbox_id=box.id)
        assert [each.id for each in porthole.runs.list(search="BY SEARCH", tag=("thread", "42"))] == [run.id]
        assert list(porthole.runs.list(sandbox_id=box.id, status="completed")) == []
        with pytest.raises(ValueError, match="time zone"):
            list(porthole.runs.list(created_before=datetime(2200, 1, 1)))
        assert box.set_timeout(120, on_timeout="delete")["on_timeout"] == "delete"
        assert box.set_timeout(None)["timeout_at"] is None
        assert box.stop()["state"] == "stopped"
        assert box.resume()["state"] == "running"
    with pytest.raises(PortholeError) as caught:
        porthole.sandboxes.get(box.id)
    assert caught.value.code == "sandbox_not_found"


def test_names_the_remedy_of_an_error(porthole: Porthole) -> None:
    with pytest.raises(PortholeError) as caught:
        porthole.run("run_nothere")
    assert (caught.value.status, caught.value.code) == (404, "run_not_found")
    assert caught.value.remedy != "" and caught.value.message.endswith(caught.value.remedy[1:])


def test_opens_a_terminal(run: Run) -> None:
    with run.sandbox.terminal(cols=90, rows=20, shell="sh") as terminal:
        terminal.write("stty size; read line; echo got:$line; stty size; exit 3\n")
        shown = b""
        while b"20 90" not in shown:
            shown += terminal.read()
        terminal.resize(100, 30)
        terminal.write("ä\n")
        shown = b"".join(terminal)
        assert "got:ä".encode() in shown and b"30 100" in shown
        assert terminal.exit is not None and terminal.exit.code == 3
        assert terminal.read() == b""


def test_comes_back_to_the_terminal_of_a_session(run: Run) -> None:
    session = run.sandbox.create_session()
    first = run.sandbox.terminal(session=session, shell="sh")
    first.write("echo $((6 * 7))\n")
    shown = b""
    while b"42" not in shown:
        shown += first.read()
    first.close()
    with pytest.raises(PortholeError, match="The terminal is gone"):
        first.write("more")
    with run.sandbox.terminal(session=session, shell="sh") as again:
        shown = b""
        while b"42" not in shown:
            shown += again.read()


def test_says_why_a_terminal_does_not_open(run: Run) -> None:
    with pytest.raises(PortholeError) as caught:
        run.sandbox.terminal(cols=0)
    assert (caught.value.status, caught.value.code) == (400, "invalid_request")
    with run.sandbox.terminal(shell="no-such-shell") as terminal:
        assert b"".join(terminal) is not None
        assert terminal.exit is not None and terminal.exit.code == 127


def test_sends_only_what_has_changed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.txt").write_text("one")
    (folder / "b.txt").write_text("two")
    (folder / "gone").mkdir()
    (folder / "gone" / "c.txt").write_text("three")

    def send(full: bool = False) -> tuple[int, int, int]:
        return run.files.upload_folder(str(folder), to="project", full=full)

    assert send() == (5, 0, 0)
    assert send() == (0, 0, 5)
    run.files.write("project/theirs.txt", "stays")
    (folder / "b.txt").write_text("new")
    (folder / "gone" / "c.txt").unlink()
    (folder / "gone").rmdir()
    assert send() == (1, 2, 2)
    assert run.files.text("project/b.txt") == "new"
    names = {entry["path"] for entry in run.files.list("project", depth=3)["entries"]}
    assert names == {
        f"/workspace/project/{name}" for name in ("src", "src/a.txt", "b.txt", "theirs.txt")
    }
    assert send(full=True) == (3, 0, 0)
    # The length and the time stay the same.
    for text in ("old", "new"):
        (folder / "b.txt").write_text(text)
        os.utime(folder / "b.txt", (1, 1))
        assert send() == (1, 0, 2)
    assert run.files.text("project/b.txt") == "new"
    # A file takes the place of a folder.
    (folder / "src" / "a.txt").unlink()
    (folder / "src").rmdir()
    (folder / "src").write_text("a file")
    assert send() == (1, 2, 1)
    assert run.files.text("project/src") == "a file"


def test_sends_a_folder_with_a_file_larger_than_an_archive(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "models"
    folder.mkdir()
    for name in ("a.txt", "z.txt"):
        (folder / name).write_text(name)
    (folder / "model.bin").write_bytes(b"x" * (40 * 1_048_576))
    assert run.files.upload_folder(str(folder), to="models") == (3, 0, 0)
    sizes = {each["name"]: each["size"] for each in run.files.list("models")["entries"]}
    assert sizes == {"a.txt": 5, "model.bin": 40 * 1_048_576, "z.txt": 5}


def test_runs_code_in_contexts_that_keep_their_variables(porthole: Porthole) -> None:
    sandbox = porthole.sandboxes.create()
    try:
        sandbox.run_code("x = 20")
    except PortholeError as error:
        if error.code != "code_interpreter_missing":
            raise
        pytest.skip(str(error))
    ran = sandbox.run_code("print('hello')\nx + 1")
    assert (ran["stdout"], [each["text"] for each in ran["results"]]) == ("hello\n", ["21"])
    other = sandbox.code_contexts.create()
    failed = sandbox.run_code("x", context=other["id"], env={"A": "b"}, timeout=30)["exception"]
    assert failed is not None and failed["name"] == "NameError"
    sandbox.code_contexts.restart(other["id"])
    sandbox.code_contexts.interrupt(other["id"])
    assert other["id"] in [each["id"] for each in sandbox.code_contexts.list()]
    sandbox.code_contexts.delete(other["id"])
    with pytest.raises(PortholeError, match="Context .* not found"):
        sandbox.run_code("1", context=other["id"])
    sandbox.delete()


def test_goes_back_and_forks(porthole: Porthole) -> None:
    run = porthole.run()
    sandbox = run.sandbox
    run.files.write("note.txt", "first")
    first = sandbox.checkpoints.create("first")
    assert (first["label"], first["parent"], first["memory"]) == ("first", None, False)
    run.files.write("note.txt", "second")
    (fork,) = sandbox.checkpoints.fork(first["id"])["sandboxes"]
    compared = sandbox.checkpoints.compare(fork["id"], texts=["note.txt"])
    assert [change["path"] for change in compared["changes"]] == ["note.txt"]
    assert compared["texts"][0]["other"]["text"] == "first"
    porthole.sandboxes.at(fork["id"]).files.write("note.txt", "mine")
    kept = sandbox.checkpoints.keep(fork["id"], delete=True)
    assert run.files.text("note.txt") == "mine"
    sandbox.checkpoints.restore(kept["before"]["id"])
    assert run.files.text("note.txt") == "second"
    second = sandbox.checkpoints.create()
    changes = sandbox.checkpoints.changes(second["id"], since=first["id"])
    assert [(each["path"], each["change"]) for each in changes["changes"]] == [("note.txt", "changed")]
    listed = sandbox.checkpoints.list()
    assert listed["current"] == second["id"]
    assert first["id"] in [each["id"] for each in listed["checkpoints"]]
    sandbox.checkpoints.delete(first["id"])
    with pytest.raises(PortholeError) as caught:
        sandbox.checkpoints.get(first["id"])
    assert caught.value.code == "checkpoint_not_found"
