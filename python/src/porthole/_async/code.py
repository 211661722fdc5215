from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from .._requests import given, segment
from ..types import CodeContext
from .http import AsyncHttp


class AsyncCodeContexts:
    """Contexts of code, which keep their variables from run to run."""

    def __init__(self, http: AsyncHttp, sandbox_path: str) -> None:
        self._http = http
        self._path = f"{sandbox_path}/code/contexts"

    async def list(self) -> Sequence[CodeContext]:
        answer = await self._http.json("GET", self._path)
        return cast("Sequence[CodeContext]", answer["contexts"])

    async def create(self, language: str | None = None, *, cwd: str | None = None) -> CodeContext:
        """In Python unless a language is named. `cwd` is a folder of the sandbox."""
        body = given(language=language, cwd=cwd)
        return cast(CodeContext, await self._http.json("POST", self._path, json=body))

    async def delete(self, context: str) -> None:
        """Deletes it with its variables. Raises PortholeError `context_not_found`."""
        await self._http.send("DELETE", self._of(context))

    async def restart(self, context: str) -> None:
        """Its variables are lost."""
        await self._http.send("POST", f"{self._of(context)}/restart")

    async def interrupt(self, context: str) -> None:
        """What runs there ends with an exception."""
        await self._http.send("POST", f"{self._of(context)}/interrupt")

    def _of(self, context: str) -> str:
        return f"{self._path}/{segment(context)}"
