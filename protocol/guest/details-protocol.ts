/** `GET /v1/details/{id}`: details of recent commands and changed files, which the guest keeps. */
import { randomUUID } from 'node:crypto';
import * as z from 'zod/mini';
import { OUTPUT_KEPT } from './http-protocol.ts';

/** Chosen by the host for one operation; in the operation's request. */
export const detailId = z.string().check(z.regex(/^[0-9a-f]{32}$/));

/** Random: two operations never share one. */
export function newDetailId(): string {
  return randomUUID().replaceAll('-', '');
}

/** The largest file, in bytes, of which a change is kept. */
export const MAX_CHANGED_FILE_BYTES = 128 * 1024;

/** A byte becomes one character at most. */
const text = (bytes: number) => z.string().check(z.maxLength(bytes));

/** Both streams of a command, in the order of their arrival. */
export const keptOutput = z.object({
  /** All of a short output. */
  first: text(OUTPUT_KEPT.first + OUTPUT_KEPT.last),
  last: text(OUTPUT_KEPT.last),
  /** Bytes between the two that are not kept. */
  omitted_bytes: z.int().check(z.gte(0)),
});
export type KeptOutput = z.infer<typeof keptOutput>;

/** Contents of a file; `before` is null for a new file. */
export const keptChange = z.object({
  before: z.nullable(text(MAX_CHANGED_FILE_BYTES)),
  after: text(MAX_CHANGED_FILE_BYTES),
});
export type KeptChange = z.infer<typeof keptChange>;

/** Why a change is not kept. */
export const CHANGE_OMITTED = ['too_large', 'not_text'] as const;

export const keptDetail = z.union([
  z.object({ output: keptOutput }),
  z.object({ change: keptChange }),
  z.object({ omitted: z.enum(CHANGE_OMITTED) }),
]);
export type KeptDetail = z.infer<typeof keptDetail>;
