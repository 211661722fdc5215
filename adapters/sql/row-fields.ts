/**
 * Rows and records: a record's field `createdAt` is the column `created_at`. An instant is the text
 * of `instantText` in a column `at` or `…_at`, a flag is 0 or 1, and an owner is two columns. A
 * table's own functions convert what else differs.
 */
import type { Owner } from '#base/clock-and-ids.ts';
import type { OwnerColumns } from './schema.ts';
import { instantText } from './sql-dialect.ts';

type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : Name;
type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name;

type Column<Field> = Field extends Date ? string : Field extends boolean ? number : Field;
/** The columns of the fields that a table has in common with a record. */
export type Columns<Item> = {
  [Name in keyof Item as Name extends 'owner' ? never : Snake<Name & string>]: Column<Item[Name]>;
} & (Item extends { readonly owner: Owner } ? OwnerColumns : unknown);

type Instant<Name, Value> = Name extends 'at' | `${string}_at`
  ? Value extends string
    ? Date
    : Value
  : Value;
type Fields<Columns> = {
  [Name in Exclude<keyof Columns & string, keyof OwnerColumns> as Camel<Name>]: Instant<Name, Columns[Name]>;
} & (Columns extends OwnerColumns ? { owner: Owner } : unknown);

/** The columns of these fields: a caller's object may have more, which do not reach SQL. */
export function columnsOf<Item extends object, Name extends keyof Item & string>(
  item: Item,
  names: readonly Name[],
): Columns<Pick<Item, Name>> {
  const columns = names.flatMap((name) => {
    const value: unknown = item[name];
    if (name === 'owner') {
      const { org, user } = value as Owner;
      return [
        ['owner_org', org],
        ['owner_user', user],
      ];
    }
    return [[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), columnOf(value)]];
  });
  return Object.fromEntries(columns) as Columns<Pick<Item, Name>>;
}

function columnOf(value: unknown): unknown {
  if (value instanceof Date) return instantText(value);
  return typeof value === 'boolean' ? Number(value) : value;
}

export function fieldsOf<Row extends object>(row: Row): Fields<Row> {
  const { owner_org: org, owner_user: user, ...columns } = row as Row & Partial<OwnerColumns>;
  const fields = Object.entries(columns).map(([name, value]: [string, unknown]) => [
    name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    typeof value === 'string' && /(?:^|_)at$/.test(name) ? new Date(value) : value,
  ]);
  return Object.fromEntries(
    org === undefined ? fields : [...fields, ['owner', { user, org }]],
  ) as Fields<Row>;
}
