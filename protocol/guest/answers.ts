/**
 * Answers of the guest that the host validates. A separate module, because the guest itself needs
 * no schemas for them.
 */
import * as z from 'zod/mini';
import { processExit } from './processes-protocol.ts';

/** `GET /v1/health` */
export const guestHealth = z.object({
  protocol: z.number(),
  version: z.string().check(z.maxLength(64)),
  started_at: z.string().check(z.maxLength(64)),
  /** False if another user owns the workspace and the sandbox's user has no access. */
  workspace: z.optional(z.boolean()),
});
export type GuestHealth = z.infer<typeof guestHealth>;

/** The body of every refusal. More fields may follow, for programs. */
export const guestErrorBody = z.looseObject({
  error: z.string().check(z.maxLength(16_384)),
  code: z.string().check(z.maxLength(64)),
});

/** A 409 `process_exited` and a 404 `not_found` carry these beside `error` and `code`. */
export const refusalDetails = z.object({
  exit: z.optional(processExit),
  /** Existing ids, names or ports. */
  existing: z.optional(z.array(z.string().check(z.maxLength(128))).check(z.maxLength(100))),
});

/** The event `cut` of output: this many bytes before the next event are lost. */
export const outputCut = z.object({ bytes: z.int().check(z.gte(0)) });

/** `POST …/input?eof=true` takes raw bytes, and answers once they are in the pipe. */
export const inputTaken = z.object({ bytes: z.int().check(z.gte(0)) });
