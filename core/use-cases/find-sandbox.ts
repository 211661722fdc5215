import { type Caller, mayUseSandbox } from '../callers.ts';
import { PortholeError } from '../errors.ts';
import type { Records } from '../ports/records.ts';
import type { SandboxRecord } from '../ports/sandbox-records.ts';
import { checkSandboxId } from '../rules/sandbox-id.ts';

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
