import type { Run } from '../runs/run.ts';
import type { Context } from './command.ts';
import { holdSandbox } from './hold-sandbox.ts';

/**
 * What the runs are called that the command makes for its previews, so that it finds them again.
 */
const TITLE = 'porthole preview';
/** Runs that are looked through for it. */
const MOST = 1_000;

/**
 * The run that a word names: itself, or the one that this command has made for a sandbox; undefined
 * where it has made none.
 */
export async function runOf(context: Context, word: string, isMade: 'make'): Promise<Run>;
export async function runOf(context: Context, word: string): Promise<Run | undefined>;
export async function runOf(context: Context, word: string, isMade?: 'make'): Promise<Run | undefined> {
  const { porthole, signal } = context;
  if (word.startsWith('run_')) return porthole.runs.get(word, { signal });
  const { id } = await holdSandbox(context, word);
  return (
    (await findRun(context, id, TITLE)) ??
    (isMade === undefined ? undefined : porthole.run({ sandboxId: id, title: TITLE, signal }))
  );
}

/** The run with that title in a sandbox, or a new one. */
export async function runFor(context: Context, sandboxId: string, title: string): Promise<Run> {
  const { porthole, signal } = context;
  return (await findRun(context, sandboxId, title)) ?? porthole.run({ sandboxId, title, signal });
}

async function findRun(
  { porthole, signal }: Context,
  sandboxId: string,
  title: string,
): Promise<Run | undefined> {
  let seen = 0;
  for await (const run of porthole.runs.list({ signal })) {
    const { sandbox_id: id, title: its, status } = run.info;
    if (id === sandboxId && its === title && status === 'running') return run;
    seen += 1;
    if (seen >= MOST) break;
  }
  return undefined;
}
