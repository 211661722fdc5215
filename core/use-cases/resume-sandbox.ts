import type { Clock } from '../ports/clock.ts';
import type { Records } from '../ports/records.ts';
import type { SandboxRecord } from '../ports/sandbox-records.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { quotaExceeded, quotaOf, type Quotas } from '../rules/quotas.ts';
import { quotaLimitsOf } from './create-sandbox.ts';
import { joined } from './joined.ts';

export interface ResumeSandboxDeps {
  readonly records: Pick<Records, 'sandboxes'>;
  readonly provider: Pick<SandboxProvider, 'resume' | 'stop' | 'defaultSize'>;
  readonly clock: Clock;
  /** What each owner may have running. */
  readonly quotas: Quotas;
}

/**
 * Starts a sandbox on its files: one that is stopped, and one that is wanted to run and does not,
 * because its last resume failed or it died. The wish is recorded first, so that a pass that would stop
 * it again sees that it is wanted.
 * @throws PortholeError `quota_exceeded` where its owner would have too much running, and what the provider refuses
 */
export async function resumeSandbox(
  { records, provider, clock, quotas }: ResumeSandboxDeps,
  sandbox: SandboxRecord,
): Promise<SandboxRecord> {
  const now = clock.now();
  await records.sandboxes.touch(sandbox, now);
  const { owner } = sandbox;
  const woken = await records.sandboxes.wake(sandbox, now, quotaLimitsOf({ quotas, provider }, owner));
  if (typeof woken !== 'string') {
    const more = { sandboxes: 1, ...provider.defaultSize, ...sandbox.resources, diskMb: 0 };
    throw quotaExceeded(quotaOf(quotas, owner), woken, more);
  }
  // Simultaneous ones of this process do it together: each would look, wait and try a command by itself.
  await joined(records.sandboxes, `resume ${sandbox.id}`, () => provider.resume(sandbox.id));
  const beaten =
    sandbox.ttlSeconds === null ? undefined : await records.sandboxes.heartbeat(sandbox, clock.now());
  await records.sandboxes.setObserved(sandbox.id, 'running', sandbox.generation);
  // The provider has brought them up to date.
  const { skills } = (sandbox.skills.length > 0 && (await records.sandboxes.get(sandbox.id))) || sandbox;
  const { lastActiveAt, heartbeatAt } = beaten ?? { lastActiveAt: now, heartbeatAt: now };
  return {
    ...sandbox,
    desired: 'running',
    observed: 'running',
    stoppedAt: null,
    lastActiveAt,
    heartbeatAt,
    skills,
  };
}

/** Ends every process in a sandbox and keeps its files. Resuming brings it back. */
export async function stopSandbox(
  { records, provider, clock }: Omit<ResumeSandboxDeps, 'quotas'>,
  sandbox: SandboxRecord,
  signal?: AbortSignal,
): Promise<SandboxRecord> {
  const now = clock.now();
  await records.sandboxes.moveDesired(sandbox, 'running', 'stopped', now);
  await provider.stop(sandbox.id, signal);
  await records.sandboxes.setObserved(sandbox.id, 'stopped', sandbox.generation);
  return { ...sandbox, desired: 'stopped', observed: 'stopped', stoppedAt: sandbox.stoppedAt ?? now };
}
