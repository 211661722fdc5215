"""Retries, event streams and errors, against a server that misbehaves on purpose."""

from __future__ import annotations

import http.server
import itertools
import threading
import types
from collections.abc import Iterator
from typing import Any

import pytest

from porthole import Porthole, PortholeError
from porthole._sync.http import Http
from porthole.errors import retry_delay
from porthole.streams import SseParser


class Answers(http.server.BaseHTTPRequestHandler):
    """Answers from a list of (status, headers, body), and records what it was asked."""

    answers: list[tuple[int, dict[str, str], str]] = []
    asked: list[tuple[str, str | None]] = []

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.asked.append((f"{self.command} {self.path}", self.headers.get("last-event-id")))
        status, headers, body = self.answers.pop(0)
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    do_POST = do_GET

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    Answers.answers, Answers.asked = [], []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()
        thread.join()


SANDBOX = '{"id": "a", "state": "running"}'
BUSY = (
    '{"error": "Busy: ask again.", "code": "busy", "retryable": true, "request_id": "r1", '
    '"remedy": "Ask again."}'
)


def test_repeats_an_idempotent_call_when_the_api_says_so(server: str) -> None:
    Answers.answers = [(503, {"retry-after": "0"}, BUSY), (502, {}, "<html>"), (200, {}, SANDBOX)]
    assert Porthole(server).sandboxes.get("a").id == "a"
    assert len(Answers.asked) == 3


def test_never_repeats_what_makes_something(server: str) -> None:
    Answers.answers = [(503, {"retry-after": "0"}, BUSY)]
    with pytest.raises(PortholeError) as caught:
        Porthole(server).sandboxes.create()
    error = caught.value
    assert (error.code, error.status, error.retryable, error.request_id) == ("busy", 503, True, "r1")
    assert (error.message, error.remedy, error.retry_after) == ("Busy: ask again.", "Ask again.", 0)


def test_waits_for_a_decision_behind_a_gateway_with_a_limit_of_29_seconds(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = itertools.count(0, 29)
    clock = types.SimpleNamespace(monotonic=lambda: next(ticks))
    monkeypatch.setattr("porthole._sync.http.time", clock)
    slow = (504, {"retry-after": "0"}, '{"message": "Endpoint request timed out"}')
    Answers.answers = [slow] * 5 + [(200, {}, '{"session_id": "s"}')]
    client = Http(server + "/", None)
    try:
        assert client.json("POST", "a", idempotent=True, waits=True) == {"session_id": "s"}
        assert len(Answers.asked) == 6
        Answers.answers = [slow] * 4
        with pytest.raises(PortholeError):
            client.json("POST", "a", idempotent=True)
    finally:
        client.close()


@pytest.mark.parametrize(
    ("facts", "delay"),
    [
        ({"status": 503}, 0.2),
        ({"status": 429}, None),
        ({"status": 429, "retry_after": 2.0}, 2.0),
        ({"status": 503, "retry_after": 31.0}, None),
        ({"status": 503, "retryable": False}, None),
        ({"status": 500}, None),
    ],
)
def test_chooses_the_delay_of_a_retry(facts: dict[str, Any], delay: float | None) -> None:
    assert retry_delay(PortholeError("", code="", **facts), 0, 1) == delay
    assert retry_delay(PortholeError("", code="", **facts), 3, 1) is None


def test_does_not_follow_a_redirect_with_the_credential(server: str) -> None:
    Answers.answers = [(302, {"location": "http://127.0.0.1:1/"}, "")]
    with pytest.raises(PortholeError, match="not by Porthole") as caught:
        Porthole(server, "secret-key").sandboxes.get("a")
    assert caught.value.code == "status_302"


def test_names_an_address_that_does_not_answer() -> None:
    with pytest.raises(PortholeError, match="could not be reached") as caught:
        Porthole("http://127.0.0.1:1", "secret-key").sandboxes.create()
    assert (caught.value.code, caught.value.status, caught.value.retryable) == ("unreachable", 0, True)
    with pytest.raises(ValueError, match="api_key"):
        Porthole(api_key="a\n")
    with pytest.raises(ValueError, match="url"):
        Porthole("ftp://a")


def test_resumes_a_stream_at_its_last_event(server: str) -> None:
    stream = {"content-type": "text/event-stream"}
    first = 'retry: 1\n\nid: 7\nevent: one\ndata: {"n": 1}\n\n'
    Answers.answers = [(200, stream, first), (503, {}, ""), (200, stream, "id: 8\nevent: two\ndata: {}\n\n")]
    events = Porthole(server).sandboxes.at("a").events(after="6")
    assert [next(events), next(events)] == [{"id": "7", "type": "one", "n": 1}, {"id": "8", "type": "two"}]
    assert [last for _, last in Answers.asked] == ["6", "7", "7"]


def test_resumes_output_after_an_error_of_the_stream_that_may_pass(server: str) -> None:
    stream = {"content-type": "text/event-stream"}

    def broken(retryable: str) -> str:
        error = '{"error": "The sandbox has ended.", "code": "ended", "retryable": %s}'
        return f"retry: 1\n\nid: 3\nevent: stdout\ndata: aGk=\n\nevent: error\ndata: {error % retryable}\n\n"

    Answers.answers = [(200, stream, broken("true")), (200, stream, broken("false"))]
    output = Porthole(server).sandboxes.at("a").servers.logs("web")
    assert [next(output).data, next(output).data] == [b"hi", b"hi"]
    with pytest.raises(PortholeError, match="The sandbox has ended") as caught:
        next(output)
    assert (caught.value.code, [last for _, last in Answers.asked]) == ("ended", [None, "3"])


def test_does_not_take_a_cut_stream_for_the_end_of_a_command(server: str) -> None:
    stream = {"content-type": "text/event-stream"}
    Answers.answers = [
        (200, stream, "event: stdout\ndata: aGk=\n\n"),
        (200, {"content-length": "99", **stream}, ""),
    ]
    for expected in ("invalid_answer", "unreachable"):
        with pytest.raises(PortholeError) as caught:
            Porthole(server).sandboxes.at("a").exec("true").collect()
        assert caught.value.code == expected


@pytest.mark.parametrize("size", [1, 2, 3, 1_000])
def test_parses_an_event_stream_in_parts_of_any_size(size: int) -> None:
    text = ": comment\r\nretry: 250\r\nid: 1\revent: a\ndata: ä\ndata: b\r\n\r\ndata:x\n\ndata\n\n"
    data = text.encode()
    parser = SseParser()
    events = [event for at in range(0, len(data), size) for event in parser.push(data[at : at + size])]
    events += parser.push(b"", final=True)
    assert [(event.event, event.data, event.id) for event in events] == [
        ("a", "ä\nb", "1"),
        ("message", "x", "1"),
        ("message", "", "1"),
    ]
    assert parser.retry == 0.25


def test_rejects_what_is_no_event_stream() -> None:
    for data in (b"\xff", b"data: cut"):
        with pytest.raises(PortholeError) as caught:
            SseParser().push(data, final=True)
        assert caught.value.code == "invalid_answer"
