"""The sandbox suite of `langchain-tests`, unmodified, and what it leaves out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from deepagents.backends.protocol import ExecuteResponse
from langchain_tests.integration_tests import SandboxIntegrationTests

from porthole import Porthole
from porthole.langchain import PortholeBackend


class WithPython(PortholeBackend):
    """The suite runs `python`, which Debian calls `python3`."""

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        return super().execute(f'PATH="/workspace/bin:$PATH"\n{command}', timeout=timeout)


@pytest.fixture(scope="module")
def backend(porthole: Porthole) -> Iterator[PortholeBackend]:
    with porthole.sandboxes.create(on_exit="delete") as sandbox:
        sandbox.exec("mkdir bin; ln -s /usr/bin/python3 bin/python").text()
        yield WithPython(sandbox)


class TestSandboxSuite(SandboxIntegrationTests):
    @pytest.fixture(scope="class")
    def sandbox(self, backend: PortholeBackend) -> PortholeBackend:
        return backend


def test_keeps_the_order_of_both_streams_and_bounds_them(backend: PortholeBackend) -> None:
    said = backend.execute("echo 1; echo 2 >&2; echo 3; exit 7")
    assert (said.output, said.exit_code, said.truncated) == ("1\n2\n3\n", 7, False)
    much = backend.execute("head -c 2000000 /dev/zero")
    assert (len(much.output), much.truncated) == (1_048_576, True)
    assert backend.execute("sleep 60", timeout=1).exit_code == 124
