import type { Run } from '../runs/run.ts';
import type { Context } from './command.ts';
import { holdSandbox } from './hold-sandbox.ts';

/** Title of the runs that the command creates for its previews; used to find them again. */
const TITLE = 'porthole preview';

/**
 * The run that an argument names: by its id, or the one that this command created for a sandbox;
 * undefined if there is no such run.
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
  for await (const run of porthole.runs.list({ sandboxId, status: 'running', signal })) {
    if (run.info.title === title) return run;
  }
  return undefined;
}
