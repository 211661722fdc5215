import * as z from 'zod/mini';

/** A run's id is the name of its file. */
const runId = z.string().check(z.regex(/^[A-Za-z0-9_-]{1,64}$/));

/** Bytes of one file: a token, and where to call. */
const MAX_FILE = 16 * 1024;

/** The body of `PUT /v1/runs`. */
export const runsRequest = z.object({
  /** The credentials of the `porthole` command for each run: its token, and the API's URL. */
  running: z.array(z.object({ id: runId, access: z.string().check(z.maxLength(MAX_FILE)) })),
  ended: z.array(runId),
});

export type RunsRequest = z.input<typeof runsRequest>;
