import { type SelectQueryBuilder, sql } from 'kysely';
import { PortholeError } from '#core/errors.ts';
import type { Page, PageRequest } from '#core/shared/reads.ts';
import type { SqlSchema } from './schema.ts';

/**
 * A row's position in a list. Keyset pagination: rows that come and go elsewhere do not shift it.
 */
interface Position {
  readonly created_at: string;
  readonly id: string;
}

const MAX_LIMIT = 1000;
/** Enough for an id of some hundred characters; longer text is not decoded. */
const MAX_AFTER = 1024;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Reads one page of `query`, newest first, ties by id. `invalid_request` for a limit outside
 * 1..1000 or an `after` that no page returned.
 */
export async function keysetPage<
  Table extends
    | 'runs'
    | 'sandboxes'
    | 'approval_policies'
    | 'tools'
    | 'tool_versions'
    | 'tool_runs'
    | 'archives',
  Row extends Position,
  Item,
>(
  query: SelectQueryBuilder<SqlSchema, Table, Row>,
  { limit, after }: PageRequest,
  toItem: (row: Row) => Item,
): Promise<Page<Item>> {
  checkLimit(limit);
  const start = after === undefined ? undefined : parseAfter(after);
  const rows = await (start
    ? query.where(sql<boolean>`(created_at, id) < (${start.created_at}, ${start.id})`)
    : query
  )
    .orderBy(sql`created_at`, 'desc')
    .orderBy(sql`id`, 'desc')
    // One more than requested shows whether another page follows.
    .limit(limit + 1)
    .execute();
  const items = rows.slice(0, limit) as Row[];
  const last = items.at(-1);
  return { items: items.map(toItem), next: last && rows.length > limit ? formatAfter(last) : null };
}

/** @throws PortholeError `invalid_request` outside 1..1000 */
export function checkLimit(limit: number): void {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return;
  throw new PortholeError('invalid_request', `limit must be an integer from 1 to ${MAX_LIMIT}, got ${limit}`);
}

function formatAfter({ created_at, id }: Position): string {
  return Buffer.from(`${created_at}${id}`).toString('base64url');
}

function parseAfter(after: string): Position {
  if (after.length <= MAX_AFTER) {
    const text = Buffer.from(after, 'base64url').toString();
    const position = { created_at: text.slice(0, 24), id: text.slice(24) };
    const readable = INSTANT.test(position.created_at) && position.id !== '' && !position.id.includes('\0');
    if (readable && formatAfter(position) === after) return position;
  }
  throw new PortholeError('invalid_request', 'after is not the next of a page: start again without it');
}
