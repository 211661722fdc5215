import { type Caller, mayUseSandbox } from '../callers.ts';
import { PortholeError } from '../errors.ts';
import type { Records, SandboxRecord } from '../ports/records.ts';

/** The bridge's form of a sandbox id. */
export const SANDBOX_ID = /^[a-z2-7]{1,128}$/;

/** @throws PortholeError `invalid_request`, worded as the sandbox bridge does */
export function checkSandboxId(id: string): string {
  if (SANDBOX_ID.test(id)) return id;
  throw new PortholeError('invalid_request', 'Invalid sandbox ID format');
}

export function sandboxNotFound(id: string): PortholeError {
  return new PortholeError('sandbox_not_found', `Sandbox ${id} does not exist: POST /v1/sandbox makes one.`);
}

/**
 * The sandbox, once it is certain that the caller may use it. `agents` says whether the agent of its run may.
 * @throws PortholeError `invalid_request`, `sandbox_not_found` (a foreign one too: its existence is nobody else's business)
 */
export async function findSandbox(
  { records }: { readonly records: Records },
  caller: Caller,
  id: string,
  { agents = false }: { readonly agents?: boolean } = {},
): Promise<SandboxRecord> {
  const sandbox = await records.sandboxes.get(checkSandboxId(id));
  if (sandbox === undefined || sandbox.desired === 'destroyed' || !mayUseSandbox(caller, sandbox, agents)) {
    throw sandboxNotFound(id);
  }
  return sandbox;
}
