import type { Records } from '../ports/records.ts';
import type { SandboxRecord } from '../ports/sandbox-records.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { oneAtATime } from './one-at-a-time.ts';

export interface DestroySandboxDeps {
  readonly records: Records;
  readonly provider: SandboxProvider;
}

/** Ends a sandbox and its files for good. The wish is recorded first, so that a crash in the middle is finished later. */
export async function destroySandbox(
  { records, provider }: DestroySandboxDeps,
  { id, generation }: Pick<SandboxRecord, 'id' | 'generation'>,
): Promise<void> {
  await records.sandboxes.setDesired(id, 'destroyed', generation);
  // Two at a time could both find it there, and the slower one destroy what has taken over the id by then.
  await oneAtATime(records.sandboxes, id, async () => {
    const found = await records.sandboxes.get(id);
    if (found?.generation !== generation || found.observed === 'destroyed') return;
    await provider.destroy(id);
    await records.sandboxes.setObserved(id, 'destroyed', generation);
  });
}
