import type { ErrorBody } from '../http/http-event.ts';

/** An error of E2B's API. `error_code` has the code of the catalogue. */
export function e2bErrorShape({ error, code }: ErrorBody, status: number) {
  return { status, body: { code: status, message: error, error_code: code } };
}
