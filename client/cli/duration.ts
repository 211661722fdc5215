import { UsageError } from './command.ts';

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/**
 * Seconds of a duration such as `90`, `90s`, `30m`, `2h`, `1d`.
 * @throws UsageError
 */
export function readDuration(option: string, text: string): number {
  const [, number, unit = 's'] = /^(\d{1,7})([smhd])?$/.exec(text) ?? [];
  const seconds = Number(number) * SECONDS[unit as keyof typeof SECONDS];
  if (number !== undefined && seconds > 0) return seconds;
  throw new UsageError(`--${option} must be a time such as 90s, 30m, 2h or 1d, got ${JSON.stringify(text)}.`);
}
