import { PortholeError } from '../errors.ts';

/** The bridge's form of a session id. */
const SESSION_ID = /^(?!.*\.\.)[a-zA-Z0-9._-]{1,128}$/;

/** @throws PortholeError `invalid_request`, worded as the sandbox bridge does */
export function checkSessionId(id: string): string {
  if (SESSION_ID.test(id)) return id;
  throw new PortholeError('invalid_request', 'Invalid session ID format');
}
