from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from .._requests import given, segment
from ..errors import PortholeError
from ..types import (
    AccessLevel,
    CreatedPreviewLink,
    LinkLevel,
    PreviewAccess,
    PreviewLink,
    PreviewViewer,
)
from .http import AsyncHttp


class AsyncPreviewSharing:
    """Who may open a preview. Only the owner of its run and admins may ask and decide."""

    def __init__(self, http: AsyncHttp, preview: str) -> None:
        self._http = http
        self._path = f"v1/previews/{segment(preview)}"

    async def access(self) -> PreviewAccess:
        return cast(PreviewAccess, await self._http.json("GET", f"{self._path}/access"))

    async def set_access(
        self, level: AccessLevel, *, password: str | None = None, name: str | None = None
    ) -> PreviewAccess:
        """Changes the level, also for later previews of the port. All visits end.

        With a `name` it also answers at `https://{name}-preview.{zone}`, unless its level is
        `link`. Without one it keeps its name; an empty one gives the name back.
        """
        named = {} if name is None else {"name": name or None}
        fields = {**given(level=level, password=password), **named}
        return cast(PreviewAccess, await self._http.json("PUT", f"{self._path}/access", json=fields))

    async def create_link(
        self,
        label: str,
        *,
        level: LinkLevel | None = None,
        password: str | None = None,
        expires_in: int | None = None,
        max_uses: int | None = None,
        may_wake: bool | None = None,
    ) -> CreatedPreviewLink:
        """A link that lets its holders in at any level. No later call returns its URL.

        `label` says whom it is for, `expires_in` is in seconds, and with `may_wake` its visitors
        may start the preview while it is stopped.
        """
        fields = given(
            label=label,
            level=level,
            password=password,
            expires_in=expires_in,
            max_uses=max_uses,
            may_wake=may_wake,
        )
        return cast(CreatedPreviewLink, await self._http.json("POST", f"{self._path}/links", json=fields))

    async def links(self) -> Sequence[PreviewLink]:
        """Oldest first."""
        answer = await self._http.json("GET", f"{self._path}/links")
        return cast("Sequence[PreviewLink]", answer["links"])

    async def revoke_link(self, link_id: str) -> None:
        """Ends the link. Those who came by it lose the preview at once."""
        await self._http.send("DELETE", f"{self._path}/links/{segment(link_id)}")

    async def get_pass(self) -> str | None:
        """For the header `X-Porthole-Pass` of a program's requests, for ten minutes.

        None if everyone who has the URL may open it, or if the caller may not.
        """
        try:
            answer = await self._http.json("POST", f"{self._path}/pass", idempotent=True)
        except PortholeError as error:
            if error.status in (403, 404):
                return None
            raise
        return cast("str | None", answer["pass"])

    async def viewers(self) -> Sequence[PreviewViewer]:
        """Who opened it, the last first. Not at the level `link`, which needs no visit."""
        answer = await self._http.json("GET", f"{self._path}/viewers")
        return cast("Sequence[PreviewViewer]", answer["viewers"])
