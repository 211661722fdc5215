"""Events of streams, and the parser of event streams."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from dataclasses import dataclass
from typing import Literal, cast

from .errors import PortholeError, invalid_answer, parse_object
from .types import ProcessExit

# Maximum size of one event in characters: four times a frame of command output.
MOST_EVENT = 4_194_304


@dataclass(frozen=True)
class CommandEvent:
    """Output of a command, or, as the last event, its exit."""

    type: Literal["stdout", "stderr", "exit"]
    data: bytes = b""
    exit_code: int | None = None


@dataclass(frozen=True)
class OutputEvent:
    """A piece of a process's output. `cursor` is the position after it: `since` resumes there."""

    type: Literal["stdout", "stderr", "cut", "exit"]
    cursor: int
    data: bytes = b""
    #: With `cut`: this many bytes before the next event are no longer available.
    lost: int = 0
    exit: ProcessExit | None = None


@dataclass(frozen=True)
class CommandResult:
    exit_code: int
    stdout: str
    stderr: str
    #: Whether output beyond the limit was dropped.
    truncated: bool


@dataclass(frozen=True)
class ServerSentEvent:
    event: str
    data: str
    id: str


class SseParser:
    """Parses event streams (HTML standard, section 9.2.6) in chunks of any size.

    Invalid UTF-8, a missing end, or an event that is too long is an error, and never an event.
    """

    def __init__(self) -> None:
        #: Reconnect delay in seconds, if the stream sends one.
        self.retry: float | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._held = ""
        self._event = ""
        self._data: list[str] = []
        self._length = 0
        self._id = ""

    def push(self, chunk: bytes, final: bool = False) -> list[ServerSentEvent]:
        """The events that a chunk completes. Raises PortholeError `invalid_answer`."""
        try:
            text = self._held + self._decoder.decode(chunk, final)
        except UnicodeDecodeError as error:
            raise invalid_answer("it is not UTF-8") from error
        # A CR at the end may be half of a CRLF.
        pending = "\r" if text.endswith("\r") and not final else ""
        lines = text[: len(text) - len(pending)].replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._held = lines.pop() + pending
        events = [event for line in lines if (event := self._line(line)) is not None]
        if self._length + len(self._held) > MOST_EVENT:
            raise invalid_answer(f"an event is longer than {MOST_EVENT} characters")
        if final and (self._held or self._data):
            raise invalid_answer("the event stream was cut off")
        return events

    def _line(self, line: str) -> ServerSentEvent | None:
        if line == "":
            event = ServerSentEvent(self._event or "message", "\n".join(self._data), self._id)
            is_event = bool(self._data)
            self._event, self._data, self._length = "", [], 0
            return event if is_event else None
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
            self._length += len(value)
        elif field == "event":
            self._event = value
        elif field == "id":
            self._id = value if "\0" not in value else self._id
        elif field == "retry" and re.fullmatch(r"\d{1,9}", value):
            self.retry = int(value) / 1_000
        return None


def _bytes_of(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise invalid_answer("output is not base64") from error


def error_of(event: ServerSentEvent) -> PortholeError:
    """The failure of a response that had begun: its status was sent before."""
    fields = parse_object(event.data)
    message, code, retryable = (fields.get(name) for name in ("error", "code", "retryable"))
    return PortholeError(
        message if isinstance(message, str) else "Porthole ended the stream with an error. Try again.",
        code=code if isinstance(code, str) else "stream_failed",
        status=400 if code == "exec_error" else 502,
        retryable=retryable if isinstance(retryable, bool) else None,
    )


def read_command_event(event: ServerSentEvent) -> CommandEvent:
    if event.event in ("stdout", "stderr"):
        return CommandEvent(cast(Literal["stdout", "stderr"], event.event), _bytes_of(event.data))
    fields = parse_object(event.data)
    if event.event == "exit" and isinstance(fields.get("exit_code"), int):
        return CommandEvent("exit", exit_code=fields["exit_code"])
    raise invalid_answer(f"unknown event {event.event[:40]!r}")


def read_output_event(event: ServerSentEvent) -> OutputEvent:
    cursor = int(event.id) if event.id.isdigit() else 0
    if event.event in ("stdout", "stderr"):
        return OutputEvent(cast(Literal["stdout", "stderr"], event.event), cursor, _bytes_of(event.data))
    fields = parse_object(event.data)
    if event.event == "cut" and isinstance(fields.get("bytes"), int):
        return OutputEvent("cut", cursor, lost=fields["bytes"])
    if event.event == "exit" and isinstance(fields.get("reason"), str):
        return OutputEvent("exit", cursor, exit=cast(ProcessExit, fields))
    raise invalid_answer(f"unknown event {event.event[:40]!r}")


def decode_text(data: bytes | bytearray, is_cut: bool = False) -> str:
    """UTF-8 with its byte order mark. Half a character at the end of cut data is left out."""
    return _utf8_decoder().decode(bytes(data), final=not is_cut)


def _utf8_decoder() -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder("utf-8")("replace")


class OutputText:
    """The text of output: events may divide characters."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._decoders = {"stdout": _utf8_decoder(), "stderr": _utf8_decoder()}
        self._after_gap: set[str] = set()

    def add(self, event: OutputEvent) -> None:
        if event.type == "cut":
            # What is left of the characters beside the gap is left out.
            for decoder in self._decoders.values():
                decoder.reset()
            self._after_gap = set(self._decoders)
        elif event.type != "exit":
            data = event.data
            if event.type in self._after_gap:
                data = data.lstrip(bytes(range(0x80, 0xC0)))
                if data:
                    self._after_gap.remove(event.type)
            self._text.append(self._decoders[event.type].decode(data))

    def text(self) -> str:
        rest = [decoder.decode(b"", final=True) for decoder in self._decoders.values()]
        return "".join([*self._text, *rest])


class Collected:
    """Output up to a limit of bytes for each stream; the rest is dropped."""

    def __init__(self, most: int) -> None:
        self._kept = {"stdout": bytearray(), "stderr": bytearray()}
        self._most = most
        self._cut: set[str] = set()
        self._exit_code = -1

    def add(self, event: CommandEvent) -> None:
        if event.type == "exit":
            self._exit_code = -1 if event.exit_code is None else event.exit_code
            return
        kept = self._kept[event.type]
        taken = event.data[: self._most - len(kept)]
        if len(taken) < len(event.data):
            self._cut.add(event.type)
        kept += taken

    def result(self) -> CommandResult:
        stdout, stderr = (decode_text(data, name in self._cut) for name, data in self._kept.items())
        return CommandResult(self._exit_code, stdout, stderr, bool(self._cut))
