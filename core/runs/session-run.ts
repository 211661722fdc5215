import { ownerOf, type Person } from '../callers.ts';
import { implicitRunId } from '../previews/implicit-run.ts';
import { createSandbox } from '../sandboxes/create-sandbox.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import { readySandbox, type UseSandboxDeps } from '../sandboxes/use-sandbox.ts';
import type { Records } from '../records.ts';
import { createRun, type CreateRunDeps } from './create-run.ts';
import type { RunRecord } from './run-records.ts';

interface SessionRunDeps {
  readonly records: Pick<Records, 'runs' | 'sandboxes'>;
}

/**
 * The newest running run in the caller's sandbox of a session key. The sandbox record ties the run
 * to the session, so any instance finds it.
 */
export async function findSessionRun(
  deps: SessionRunDeps,
  person: Person,
  sessionKey: string,
): Promise<RunRecord | undefined> {
  const { items } = await deps.records.sandboxes.list(ownerOf(person), { sessionKey }, { limit: 1 });
  const [sandbox] = items;
  return sandbox === undefined ? undefined : activeRunIn(deps, sandbox);
}

/**
 * Makes the run of a session, in the session's sandbox. If a parallel call made them, returns its
 * run.
 * @throws PortholeError what `createSandbox` and `createRun` throw
 */
export async function startSessionRun(
  deps: CreateRunDeps & UseSandboxDeps,
  person: Person,
  { sessionKey, title }: { readonly sessionKey: string; readonly title?: string | undefined },
): Promise<RunRecord> {
  const begin = async ({ id }: SandboxRecord): Promise<RunRecord> => {
    const { run } = await createRun(deps, person, { title, sandboxId: id, autoApproveTools: false });
    return run;
  };
  const useKnown = async (known: SandboxRecord): Promise<RunRecord> => {
    const sandbox = await readySandbox(deps, known);
    return (await activeRunIn(deps, sandbox)) ?? begin(sandbox);
  };
  // Without a signal: parallel calls of the session may wait for the same sandbox.
  return createSandbox(deps, { owner: ownerOf(person), sessionKey }, begin, undefined, useKnown);
}

async function activeRunIn(
  { records: { runs } }: SessionRunDeps,
  sandbox: SandboxRecord,
): Promise<RunRecord | undefined> {
  const ids = await runs.inSandbox(sandbox.id);
  const completed = await runs.completedAmong(ids);
  const tunnels = implicitRunId(sandbox);
  const newest = ids.findLast((id) => id !== tunnels && !completed.has(id));
  return newest === undefined ? undefined : runs.get(newest);
}
