"""A sandbox backend for deepagents: `pip install './python[langchain]'` in the clone.

from deepagents import create_deep_agent
from porthole.langchain import PortholeBackend

agent = create_deep_agent(model, backend=PortholeBackend(porthole.run()))
"""

from __future__ import annotations

import base64
from typing import Literal

from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
from deepagents.backends.sandbox import BaseSandbox

from . import Run, Sandbox
from .streams import CommandEvent, decode_text

FileError = Literal["file_not_found", "permission_denied", "is_directory", "invalid_path"]
# Exit codes of the scripts below.
ERRORS: dict[int | None, FileError] = {3: "file_not_found", 4: "is_directory", 5: "permission_denied"}
DOWNLOAD = '[ -e "$1" ] || exit 3; [ ! -d "$1" ] || exit 4; [ -r "$1" ] || exit 5; exec cat -- "$1"'
WRITE = '[ ! -d "$1" ] || exit 4; mkdir -p -- "${1%/*}/" && cat > "$1" || exit 5'
WRITE_SHORT = f'printf %s "$2" | base64 -d | (set -- "$1"; {WRITE})'
# Bytes that fit into an argument: Linux has 128 KiB for one, and base64 adds a third.
MOST_SHORT = 65_536
# Bytes of output that one command returns to the model.
MOST_OUTPUT = 1_048_576


class PortholeBackend(BaseSandbox):
    """Commands and files of a run, or of a sandbox: deepagents derives the other tools from them.

    `timeout`: seconds for a command that has no timeout; without it there is no limit.
    """

    def __init__(self, where: Run | Sandbox, *, timeout: int | None = None) -> None:
        self.sandbox = where.sandbox if isinstance(where, Run) else where
        self._timeout = timeout

    @property
    def id(self) -> str:
        return self.sandbox.id

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        # One stream, so that stdout and stderr are in the order in which they were written.
        limit = self._timeout if timeout is None else timeout
        running = self.sandbox.exec(["sh", "-c", f"exec 2>&1\n{command}"], timeout=limit or None)
        output, exit_code, truncated = bytearray(), None, False
        for event in running:
            taken = event.data[: MOST_OUTPUT - len(output)]
            truncated = truncated or len(taken) < len(event.data)
            output += taken
            exit_code = event.exit_code
        return ExecuteResponse(decode_text(output, truncated), exit_code, truncated)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return [FileUploadResponse(path, self._upload(path, content)) for path, content in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return [self._download(path) for path in paths]

    def _upload(self, path: str, content: bytes) -> FileError | None:
        if not path.startswith("/"):
            return "invalid_path"
        # Not by the API's files, which are those of /workspace only.
        if len(content) <= MOST_SHORT:
            encoded = base64.b64encode(content).decode()
            code: int | None = (
                self.sandbox.exec(["sh", "-c", WRITE_SHORT, "sh", path, encoded]).collect().exit_code
            )
            return None if code == 0 else ERRORS.get(code, "permission_denied")
        writing = self.sandbox.processes.start(["sh", "-c", WRITE, "sh", path], stdin=True)
        try:
            writing.input(content, eof=True)
            code = writing.wait()["code"]
        finally:
            writing.remove()
        return None if code == 0 else ERRORS.get(code, "permission_denied")

    def _download(self, path: str) -> FileDownloadResponse:
        if not path.startswith("/"):
            return FileDownloadResponse(path, error="invalid_path")
        events: list[CommandEvent] = list(self.sandbox.exec(["sh", "-c", DOWNLOAD, "sh", path]))
        code = events[-1].exit_code
        if code != 0:
            return FileDownloadResponse(path, error=ERRORS.get(code, "permission_denied"))
        content = b"".join(event.data for event in events if event.type == "stdout")
        return FileDownloadResponse(path, content=content)
