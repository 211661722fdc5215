import { readdir, readFile } from 'node:fs/promises';
import { identify, type ProcessIdentity } from '#adapters/local/process-identity.ts';
import { retry } from '#base/retry.ts';
import { type Engine, isStatus } from './engine.ts';

/**
 * The container's first process, as a pid of this process's namespace; undefined if it is not
 * visible. The engine's own pid is not used: the engine may run on another machine or in another
 * pid namespace.
 */
export async function containerProcess(containerId: string): Promise<ProcessIdentity | undefined> {
  if (process.platform !== 'linux') return undefined;
  let found: { readonly pid: number; readonly levels: number } | undefined;
  for (const pid of await readdir('/proc')) {
    const levels = /^\d+$/.test(pid) ? await levelsOfFirst(pid, containerId) : undefined;
    // Pid namespaces within the container have first processes as well.
    if (levels !== undefined && levels < (found?.levels ?? Infinity)) found = { pid: Number(pid), levels };
  }
  return found === undefined ? undefined : identify(found.pid);
}

/** Depth of the process's pid namespace, if it belongs to the container and is pid 1 there. */
async function levelsOfFirst(pid: string, containerId: string): Promise<number | undefined> {
  try {
    if (!(await readFile(`/proc/${pid}/cgroup`, 'latin1')).includes(containerId)) return undefined;
    const status = await readFile(`/proc/${pid}/status`, 'latin1');
    const [, numbers = ''] = /^NSpid:\t(.*)$/m.exec(status) ?? [];
    const levels = numbers.split('\t');
    return levels.length > 1 && levels.at(-1) === '1' ? levels.length : undefined;
  } catch {
    // It has just exited.
    return undefined;
  }
}

export interface FoundContainer {
  readonly Id: string;
  readonly Name: string;
  readonly Config: { readonly Labels?: Readonly<Record<string, string>> | null };
  readonly State: {
    readonly Status: string;
    readonly StartedAt: string;
    readonly ExitCode?: number;
    readonly OOMKilled?: boolean;
    readonly Error?: string;
  };
}

export interface RunningContainer {
  readonly containerId: string;
  /** Identifies one start of the container. */
  readonly startedAt: string;
}

type ContainerState =
  | { readonly state: 'running'; readonly container: RunningContainer }
  | { readonly state: 'creating'; readonly reason: string }
  | { readonly state: 'paused'; readonly reason: string }
  /** Only a new container helps. */
  | { readonly state: 'ended'; readonly reason: string };

export function containerState({ Id, State }: FoundContainer): ContainerState {
  switch (State.Status) {
    case 'running':
      return { state: 'running', container: { containerId: Id, startedAt: State.StartedAt } };
    case 'created':
      return { state: 'creating', reason: 'its container is about to start' };
    case 'paused':
      return { state: 'paused', reason: 'its container is paused' };
    default:
      return { state: 'ended', reason: whyEnded(State) };
  }
}

function whyEnded({ Status, ExitCode, OOMKilled, Error: error }: FoundContainer['State']): string {
  if (OOMKilled === true) return 'its container ran out of memory';
  if (error !== undefined && error !== '') return `its container has ended: ${error.slice(0, 500)}`;
  return Status === 'exited' && ExitCode !== undefined
    ? `its container has ended with code ${ExitCode}`
    : `its container is ${Status.slice(0, 50)}`;
}

/** Another process may be removing it too: tries again for so long, in milliseconds. */
const REMOVE_MS = 4_000;
const PAUSE_MS = 100;

/** Ends and removes a container; resolves once it is gone. Does nothing if it does not exist. */
export async function removeContainer(
  engine: Engine,
  container: string,
  signal?: AbortSignal,
): Promise<void> {
  const remove = () =>
    engine.find(
      `remove container ${container}`,
      (docker, abortSignal) => docker.getContainer(container).remove({ force: true, v: true, abortSignal }),
      signal,
    );
  const delay = (error: unknown) => (isStatus(error, 409) ? PAUSE_MS : undefined);
  await retry(remove, { delay, withinMs: REMOVE_MS, signal });
}
