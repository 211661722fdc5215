/**
 * `POST /v1/snapshot`: prepares for a provider that saves the memory of the sandbox. `PUT
 * /v1/identity`: what a sandbox with restored memory is. `PUT /v1/state`: a tar of the files of the
 * guest in the saved sandbox.
 */
import * as z from 'zod/mini';

/** Frames of the answer of `POST /v1/snapshot` (`base/frames`). */
export const SNAPSHOT = {
  /** Bytes of a tar: the files of the guest outside the workspace. */
  state: 1,
  /** The tar is complete, and the guest listens nowhere. */
  ready: 2,
  /** Nothing. */
  pulse: 3,
} as const;

/** Bytes of the tar per frame. */
export const MAX_STATE_FRAME = 1_048_576;

export const identityRequest = z.object({
  sandbox_id: z.string().check(z.regex(/^[a-z2-7]{1,128}$/)),
});
