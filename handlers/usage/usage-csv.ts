import type { UsageGroup } from '#core/usage/usage-store.ts';
import type { UsageRow } from './usage-routes.ts';

const AMOUNTS = [
  'vcpu_s',
  'memory_gib_s',
  'disk_gib_s',
  'egress_bytes',
  'preview_bytes',
  'look_s',
  'estimated',
] as const;

/** CSV (RFC 4180) with a header. */
export function usageCsv(by: readonly UsageGroup[], rows: readonly UsageRow[]): string {
  const names = [...by, ...AMOUNTS];
  const lines = rows.map((row) => names.map((name) => field(row[name])));
  return [names, ...lines].map((line) => `${line.join(',')}\r\n`).join('');
}

/** CSV injection: a spreadsheet takes a text that begins like a formula for one. */
function field(value: string | number | boolean | null): string {
  if (typeof value !== 'string') return String(value ?? '');
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
