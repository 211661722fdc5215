/** A variable of the functions, the setting that decides it, and its value; undefined: not set. */
export type Row = readonly [variable: string, setting: string, value: unknown];

/** A variable's text: JSON for structured values. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Texts by variable name, without unset variables. */
export function textsOf(
  rows: readonly (readonly [variable: string, ...unknown[]])[],
): Record<string, string> {
  return Object.fromEntries(
    rows.flatMap((row) => (row.at(-1) === undefined ? [] : [[row[0], textOf(row.at(-1))]])),
  );
}
