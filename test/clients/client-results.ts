import { stripVTControlCharacters } from 'node:util';
import { z } from 'zod';

/** What a program prints for each step. */
export const StepLine = z.object({ step: z.string(), reason: z.string().nullable() });

const Release = z.object({
  version: z.string(),
  passed: z.number(),
  total: z.number(),
  /** Failed steps by name, with the reason. */
  failed: z.record(z.string(), z.string()),
});

export const ClientResults = z.object({
  /** The day of the run. */
  day: z.iso.date(),
  /** By the id of the client. */
  clients: z.record(z.string(), z.array(Release)),
});

export type ReleaseResult = z.infer<typeof Release>;
export type ClientResults = z.infer<typeof ClientResults>;

const MAX_REASON = 160;

/** Without what differs from run to run, on one line. */
export function shortReason(message: string): string {
  const line = stripVTControlCharacters(message)
    .replaceAll(/127\.0\.0\.1:\d+|localhost:\d+/g, 'HOST')
    .replaceAll(/\b[a-z0-9-]{24,}\b/g, 'ID')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return line.length <= MAX_REASON ? line : `${line.slice(0, MAX_REASON - 1)}…`;
}

/** A program that printed no step has failed at its start. */
export function releaseResult(version: string, output: string, errors: string): ReleaseResult {
  const lines = output.split('\n').filter((line) => line.startsWith('{'));
  const steps = lines.map((line) => StepLine.parse(JSON.parse(line)));
  if (steps.length === 0) steps.push({ step: 'start', reason: errors });
  const failed = steps.flatMap(({ step, reason }) => (reason === null ? [] : [[step, shortReason(reason)]]));
  return {
    version,
    passed: steps.length - failed.length,
    total: steps.length,
    failed: Object.fromEntries(failed) as Record<string, string>,
  };
}
