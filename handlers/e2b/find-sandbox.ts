import type { Caller } from '#core/callers.ts';
import { endTimedOut } from '#core/sandboxes/end-timed-out.ts';
import { findSandbox, sandboxNotFound } from '#core/sandboxes/resume-sandbox.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { readySandbox } from '#core/sandboxes/use-sandbox.ts';
import type { Services } from '../services.ts';

/**
 * A sandbox of E2B's clients: they expect that it ends to the second.
 * @throws PortholeError `invalid_request`, `sandbox_not_found`
 */
export async function findE2bSandbox(services: Services, caller: Caller, id: string): Promise<SandboxRecord> {
  const found = await findSandbox(services, caller, id, { agents: true });
  const sandbox = await endTimedOut(services, found);
  if (sandbox === undefined) throw sandboxNotFound(id);
  return sandbox;
}

/** The same, once commands can run in it. @throws also what a resume throws */
export async function readyE2bSandbox(
  services: Services,
  caller: Caller,
  id: string,
): Promise<SandboxRecord> {
  return readySandbox(services, await findE2bSandbox(services, caller, id));
}
