import type { Records } from '../ports/records.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';

export interface DestroySandboxDeps {
  readonly records: Records;
  readonly provider: SandboxProvider;
}

/** Ends a sandbox and its files for good. The wish is recorded first, so that a crash in the middle is finished later. */
export async function destroySandbox({ records, provider }: DestroySandboxDeps, id: string): Promise<void> {
  await records.sandboxes.setDesired(id, 'destroyed');
  await provider.destroy(id);
  await records.sandboxes.setObserved(id, 'destroyed');
}
