import { checkSessionId } from '#core/rules/session-id.ts';

/**
 * The session that the `Session-Id` header names; undefined: none.
 * @throws PortholeError `invalid_request`
 */
export function checkSessionHeader(
  headers: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const id = headers['session-id'];
  return id === undefined ? undefined : checkSessionId(id);
}
