import { z } from 'zod';

const id = (what: string) => z.string().max(200).describe(what);

/** Path parameters of the routes below a tool. */
export const ToolPath = z.object({ tool_id: id('Tool id, `tool_` + ULID') });

export const ToolVersionPath = z.object({ version_id: id('Version id, `ver_` + ULID') });

export const ToolRunPath = z.object({ run_id: id('Run id, `trun_` + ULID') });

/** The header that carries the token of a draft's lock. */
export const LOCK_HEADER = 'draft-lock-token';

/** Longer than any token of ours; what is longer is none. */
const MOST = 100;

export function lockToken(headers: Readonly<Record<string, string | undefined>>): string | undefined {
  const token = headers[LOCK_HEADER];
  return token === undefined || token.length > MOST ? undefined : token;
}
