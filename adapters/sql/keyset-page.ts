import { type Kysely, type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { PortholeError } from '#base/errors.ts';
import { type ListFilter, MAX_TOTAL, type Page, type PageRequest } from '#base/reads.ts';
import type { SqlSchema } from './schema.ts';
import { instantText } from './sql-dialect.ts';

/**
 * A row's position in a list. Keyset pagination: rows that come and go elsewhere do not shift it.
 */
interface Position {
  readonly value: string;
  readonly id: string;
}

/** The order of a list: by a text that is never null, ties by id. */
export interface ListOrder {
  /** Part of the cursor: a cursor of another order is refused. */
  readonly name: string;
  /** An index has the same expression. */
  readonly by: RawBuilder<string>;
  readonly direction: 'asc' | 'desc';
}

export const NEWEST: ListOrder = { name: 'created', by: sql`created_at`, direction: 'desc' };
export const OLDEST: ListOrder = { ...NEWEST, direction: 'asc' };

const MAX_LIMIT = 1000;
/** Enough for an id of some hundred characters; longer text is not decoded. */
const MAX_AFTER = 1024;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Reads one page of `query`, newest first unless there is another order, ties by id.
 * `invalid_request` for a limit outside 1..1000 or an `after` that no page of the order returned.
 */
export async function keysetPage<
  Table extends
    | 'runs'
    | 'sandboxes'
    | 'approval_policies'
    | 'tools'
    | 'tool_versions'
    | 'tool_runs'
    | 'archives'
    | 'checkpoints'
    | 'webhook_deliveries',
  Row extends { readonly id: string },
  Item,
>(
  query: SelectQueryBuilder<SqlSchema, Table, Row>,
  { limit, after }: PageRequest,
  toItem: (row: Row) => Item,
  order: ListOrder = NEWEST,
): Promise<Page<Item>> {
  checkLimit(limit);
  const { by, direction } = order;
  const start = after === undefined ? undefined : parseAfter(after, order);
  const than = sql.raw(direction === 'asc' ? '>' : '<');
  const rows = await (start
    ? query.where(sql<boolean>`(${by}, id) ${than} (${start.value}, ${start.id})`)
    : query
  )
    .select(by.as('position_value'))
    .orderBy(by, direction)
    .orderBy(sql`id`, direction)
    // One more than requested shows whether another page follows.
    .limit(limit + 1)
    .execute();
  const items = rows.slice(0, limit) as (Row & { readonly position_value: string })[];
  const last = items.at(-1);
  const next = last && rows.length > limit ? { value: last.position_value, id: last.id } : undefined;
  const found = items.map((item) => {
    const { position_value: _, ...row } = item;
    return row as object as Row;
  });
  return { items: found.map(toItem), next: next === undefined ? null : formatAfter(next, order) };
}

/** How many rows `query` has, at most `MAX_TOTAL`. */
export async function countRows<Table extends 'runs' | 'sandboxes'>(
  db: Kysely<SqlSchema>,
  query: SelectQueryBuilder<SqlSchema, Table, { id: string }>,
): Promise<number> {
  const { count } = await db
    .selectFrom(query.limit(MAX_TOTAL).as('found'))
    .select(({ fn }) => fn.countAll().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** @throws PortholeError `invalid_request` outside 1..1000 */
export function checkLimit(limit: number): void {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return;
  throw new PortholeError('invalid_request', `limit must be an integer from 1 to ${MAX_LIMIT}, got ${limit}`);
}

function formatAfter({ value, id }: Position, { name }: ListOrder): string {
  const text = name === NEWEST.name ? `${value}${id}` : JSON.stringify([name, value, id]);
  return Buffer.from(text).toString('base64url');
}

function parseAfter(after: string, order: ListOrder): Position {
  if (after.length <= MAX_AFTER) {
    const text = Buffer.from(after, 'base64url').toString();
    const position = order.name === NEWEST.name ? instantPosition(text) : textPosition(text);
    if (position !== undefined && formatAfter(position, order) === after) return position;
  }
  throw new PortholeError('invalid_request', 'after is not the next of a page', {
    remedy: 'start again without it',
  });
}

function instantPosition(text: string): Position | undefined {
  const position = { value: text.slice(0, 24), id: text.slice(24) };
  const isReadable = INSTANT.test(position.value) && position.id !== '' && !position.id.includes('\0');
  return isReadable ? position : undefined;
}

/** The format is checked by formatting the position again. */
function textPosition(text: string): Position | undefined {
  const [, value, id] =
    /^\["[a-z]+",("(?:[^"\\]|\\["\\bfnrt]|\\u[0-9a-f]{4})*"),"([^"\\]+)"\]$/.exec(text) ?? [];
  if (value === undefined || id === undefined || value.includes('\\u0000')) return undefined;
  return { value: JSON.parse(value) as string, id };
}

/** The `like` pattern of texts that contain `text`, for operands in lower case. */
export function containing(text: string): string {
  // Both databases lower only A to Z of columns that compare byte by byte.
  const lower = text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  return `%${lower.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
}

/** Whether one of the columns contains the pattern of `containing`. */
export function anyLike(columns: readonly string[], pattern: string): RawBuilder<boolean> {
  const each = columns.map(
    (column) => sql`lower(coalesce(${sql.ref(column)}, '')) like ${pattern} escape '\\'`,
  );
  return sql`(${sql.join(each, sql` or `)})`;
}

/** The conditions of a filter that runs and sandboxes share. */
export function commonConditions({
  ownerUser,
  createdAfter,
  createdBefore,
}: ListFilter): readonly RawBuilder<boolean>[] {
  return [
    ...(ownerUser === undefined ? [] : [sql<boolean>`owner_user = ${ownerUser}`]),
    ...(createdAfter === undefined ? [] : [sql<boolean>`created_at >= ${instantText(createdAfter)}`]),
    ...(createdBefore === undefined ? [] : [sql<boolean>`created_at < ${instantText(createdBefore)}`]),
  ];
}
