import { anySignal, unlessAborted } from '#base/concurrency.ts';
import type { Records } from '../records.ts';
import type { CheckpointCause } from './checkpoint-store.ts';
import { type CheckpointDeps, takeIfChanged } from './take-checkpoint.ts';

/** Milliseconds without a change after which a burst of edits is over. */
const QUIET_MS = 5_000;
/** The shortest time between two checkpoints that edits cause, in milliseconds. */
const EVERY_MS = 60_000;
/** Older changes were seen by an earlier pass, in milliseconds: a pass runs each minute. */
const RECENT_MS = 180_000;
/** Time for one checkpoint, in milliseconds. */
const WITHIN_MS = 30_000;
/** Time for those of a pass, in milliseconds. */
const PASS_WITHIN_MS = 45_000;
/** How long a command waits for the checkpoint before it, in milliseconds. */
const COMMAND_WAITS_MS = 10_000;

export interface AutomaticDeps extends CheckpointDeps {
  readonly records: Pick<Records, 'checkpoints' | 'sandboxes' | 'sandboxEvents'>;
  /** Called for a checkpoint that could not be made: what caused it goes on. */
  readonly failed: (sandboxId: string, cause: CheckpointCause, error: unknown) => void;
}

/** Whether edits since the last checkpoint are worth one now. */
export function isBurstOver(
  { changed, checkpoint }: { readonly changed: Date; readonly checkpoint: Date | undefined },
  now: Date,
): boolean {
  if (now.getTime() - changed.getTime() < QUIET_MS) return false;
  if (checkpoint === undefined) return true;
  return changed > checkpoint && now.getTime() - checkpoint.getTime() >= EVERY_MS;
}

/** Whether the words of a command begin with those of a line; also of a script of a shell. */
export function isListedCommand(argv: readonly string[], lines: readonly string[]): boolean {
  const [program = '', option, script] = argv;
  const isShell = /(?:^|\/)(?:ba|da|z)?sh$/.test(program) && /^-\w*c$/.test(option ?? '');
  const words = (isShell ? (script ?? '') : argv.join(' ')).trim().split(/\s+/);
  return lines.some((line) => {
    const listed = line.split(/\s+/);
    return listed.every((word, index) => word === words[index]);
  });
}

/**
 * Makes a checkpoint of each running sandbox in which a burst of edits is over. Decided by what is
 * stored, so any process may do it, and a missed pass loses nothing but the moment.
 */
export async function checkpointEdits(deps: AutomaticDeps, signal?: AbortSignal): Promise<number> {
  const { records, clock } = deps;
  const until = anySignal(signal, AbortSignal.timeout(PASS_WITHIN_MS));
  const since = new Date(clock.now().getTime() - RECENT_MS);
  let made = 0;
  for (const { sandboxId, at } of await records.sandboxEvents.lastChanges(since)) {
    if (until.aborted) break;
    const sandbox = await records.sandboxes.get(sandboxId);
    if (sandbox === undefined) continue;
    const last = (await records.checkpoints.list(sandbox)).at(-1)?.createdAt;
    if (!isBurstOver({ changed: at, checkpoint: last }, clock.now())) continue;
    if (await takeAutomatic(deps, sandboxId, 'edits', until)) made += 1;
  }
  return made;
}

/** Makes a checkpoint unless nothing has changed. Never rejects. Returns whether one was made. */
export async function takeAutomatic(
  deps: AutomaticDeps,
  sandboxId: string,
  cause: CheckpointCause,
  signal?: AbortSignal,
): Promise<boolean> {
  try {
    const sandbox = await deps.records.sandboxes.get(sandboxId);
    if (sandbox?.desired !== 'running' || sandbox.observed !== 'running') return false;
    const until = anySignal(signal, AbortSignal.timeout(WITHIN_MS));
    return (await takeIfChanged(deps, sandbox, { label: null, cause }, until)) !== undefined;
  } catch (error) {
    deps.failed(sandboxId, cause, error);
    return false;
  }
}

/** Likewise before a command, which waits for it for a limited time. */
export async function checkpointBeforeCommand(
  deps: AutomaticDeps,
  sandboxId: string,
  signal?: AbortSignal,
): Promise<void> {
  const until = anySignal(signal, AbortSignal.timeout(COMMAND_WAITS_MS));
  await unlessAborted(takeAutomatic(deps, sandboxId, 'command'), until).catch(() => undefined);
}
