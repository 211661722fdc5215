import { PortholeError } from '../errors.ts';

/** Ours are `run_` + ULID; readers accept any id of this form, because runs may come from elsewhere. */
export const RUN_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** @throws PortholeError `invalid_run_id` */
export function checkRunId(id: string): string {
  if (RUN_ID.test(id)) return id;
  throw new PortholeError(
    'invalid_run_id',
    `Invalid run id ${JSON.stringify(id.slice(0, 80))}: 1 to 64 letters, digits, "_" or "-" are accepted.`,
  );
}
