import { stopSandbox } from '#core/sandboxes/resume-sandbox.ts';
import type { SandboxService } from '#core/sandboxes/sandbox-service.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import type { Records } from '#core/records.ts';
import type { Logger } from '#handlers/services.ts';

interface StopForDiskDeps {
  readonly records: Records;
  readonly sandboxes: SandboxService;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Stops a sandbox for the size of its files, with the reason in its events and the timelines of its
 * runs. It stays stopped until a person resumes it.
 */
export async function stopForDisk(
  { records, sandboxes, clock, log }: StopForDiskDeps,
  id: string,
  why: string,
): Promise<void> {
  log.warn({ sandbox_id: id, why }, 'sandbox stopped: its files');
  const sandbox = await records.sandboxes.get(id);
  if (sandbox?.desired !== 'running') return;
  const stop = { stop: (stopped: string) => sandboxes.stop(stopped, undefined, why) };
  await stopSandbox({ records, sandboxes: stop, clock }, sandbox);
}
