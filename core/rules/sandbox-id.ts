import { PortholeError } from '../errors.ts';

/** The bridge's form of a sandbox id. */
export const SANDBOX_ID = /^[a-z2-7]{1,128}$/;

/** @throws PortholeError `invalid_request`, worded as the sandbox bridge does */
export function checkSandboxId(id: string): string {
  if (SANDBOX_ID.test(id)) return id;
  throw new PortholeError('invalid_request', 'Invalid sandbox ID format');
}
