import { type AccessLevel, isWider, OPEN_ACCESS } from '#protocol/preview-access.ts';
import { PortholeError } from '#base/errors.ts';
import { actorOn, type Person } from '../callers.ts';
import type { CheckpointRecord } from '../checkpoints/checkpoint-store.ts';
import { awaitApp, type AwaitAppDeps } from '../processes/await-app.ts';
import { createRun, type CreateRunDeps } from '../runs/create-run.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import { accessOf } from './preview-access.ts';
import type { Preview } from './preview-plane.ts';
import { startPreview, type StartPreviewDeps } from './start-preview.ts';
import { implicitRunId } from './implicit-run.ts';

export type ForkPreviewsDeps = CreateRunDeps & StartPreviewDeps & AwaitAppDeps;

/** The run and the previews of one fork, and why some are missing. */
export interface ForkPreviews {
  readonly runId: string | null;
  readonly previews: readonly Preview[];
  readonly errors: readonly PortholeError[];
}

/**
 * Makes a run for each fork, and opens the ports in it that have previews in the original. Waits
 * for the apps of declared servers. The runs are private and approve nothing in advance. A preview
 * gets the level of the original's, and neither its name, its links, its password nor its viewers.
 */
export async function openForkPreviews(
  deps: ForkPreviewsDeps,
  person: Person,
  original: SandboxRecord,
  forks: readonly SandboxRecord[],
  { servers }: Pick<CheckpointRecord, 'servers'>,
  signal?: AbortSignal,
): Promise<readonly ForkPreviews[]> {
  const [title, levels] = await Promise.all([titleOf(deps, original), levelsByPort(deps, original, signal)]);
  const served = new Set(servers.map(({ port }) => port));
  return Promise.all(
    forks.map((fork, index) =>
      openIn(deps, person, fork, { title: `${title}, fork ${index + 1}`, levels, served }, signal),
    ),
  );
}

interface Wanted {
  readonly title: string;
  readonly levels: ReadonlyMap<number, AccessLevel>;
  /** Ports of declared servers. */
  readonly served: ReadonlySet<number | null>;
}

async function openIn(
  deps: ForkPreviewsDeps,
  person: Person,
  fork: SandboxRecord,
  { title, levels, served }: Wanted,
  signal: AbortSignal | undefined,
): Promise<ForkPreviews> {
  const errors: PortholeError[] = [];
  const unlessRefused = async <T>(work: () => Promise<T>): Promise<T[]> => {
    try {
      return [await work()];
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof PortholeError)) throw error;
      errors.push(error);
      return [];
    }
  };
  const owner: Person = { kind: 'person', ...fork.owner, admin: false };
  const [made] = await unlessRefused(() =>
    createRun(
      { ...deps, runSharing: 'private' },
      owner,
      { title, sandboxId: fork.id, autoApproveTools: false },
      signal,
    ),
  );
  if (made === undefined) return { runId: null, previews: [], errors };
  const { run } = made;
  const open = async (targetPort: number, level: AccessLevel): Promise<Preview> => {
    // Before the start: no one else may enter in between.
    await deps.records.access.change(run.id, targetPort, () => ({ ...OPEN_ACCESS, level, password: null }));
    const started = await startPreview(deps, { run, targetPort, by: actorOn(run, person) }, signal);
    if (served.has(targetPort)) await awaitApp(deps, started, signal);
    return started.preview;
  };
  const previews = await Promise.all(
    [...levels].map(([port, level]) => unlessRefused(() => open(port, level))),
  );
  return { runId: run.id, previews: previews.flat(), errors };
}

/** The strictest level of each port that has a live preview, in any run of the sandbox. */
async function levelsByPort(
  deps: ForkPreviewsDeps,
  { id }: SandboxRecord,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<number, AccessLevel>> {
  const levels = new Map<number, AccessLevel>();
  for await (const preview of deps.plane.list({ sandboxId: id }, signal)) {
    const { level } = await accessOf(deps, preview);
    // Who does not know the password of the original must not see the fork either.
    const kept = level === 'password' ? 'owner' : level;
    const known = levels.get(preview.targetPort);
    if (known === undefined || isWider(known, kept)) levels.set(preview.targetPort, kept);
  }
  return levels;
}

/** That of its newest run. */
async function titleOf({ records }: ForkPreviewsDeps, sandbox: SandboxRecord): Promise<string> {
  const tunnels = implicitRunId(sandbox);
  const newest = (await records.runs.inSandbox(sandbox.id)).findLast((id) => id !== tunnels);
  const run = newest === undefined ? undefined : await records.runs.get(newest);
  return (run?.title ?? sandbox.name ?? sandbox.id).slice(0, 180);
}
