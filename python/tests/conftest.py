from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from porthole import Porthole, Run

APP = """
import http.server, os
class App(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/old":
            self.send_response(302)
            self.send_header("location", "/new")
            self.end_headers()
            return
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"{self.command} {self.path} {body.decode()}".encode())
    do_POST = do_GET
http.server.HTTPServer(("", int(os.environ["PORT"])), App).serve_forever()
"""
SERVE = ["python3", "app.py"]


@pytest.fixture(scope="session")
def porthole() -> Iterator[Porthole]:
    with Porthole() as client:
        yield client


@pytest.fixture(scope="session")
def run(porthole: Porthole) -> Run:
    """One run for tests that do not disturb each other."""
    return porthole.run()


@pytest.fixture
def app(tmp_path: Path) -> str:
    """A folder with a web app."""
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "old.log").write_text("not sent")
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "ä b.txt").write_text("nested")
    return str(tmp_path)
