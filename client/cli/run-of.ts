import type { Run } from '../resources/run.ts';
import type { Context } from './command.ts';
import { holdSandbox } from './hold-sandbox.ts';
import { readPort } from './read-values.ts';

/** Title of the runs that the command creates for its previews; used to find them again. */
const TITLE = 'porthole preview';
/**
 * Titles of runs that `porthole preview` and `porthole up` create: a port has one preview,
 * whichever command opens it.
 */
const OURS = /^porthole (?:preview$|up )/;

/**
 * The run that an argument names: by its id, or the one that a command created for a sandbox;
 * undefined if there is no such run.
 */
export async function runOf(context: Context, word: string, isMade: 'make'): Promise<Run>;
export async function runOf(context: Context, word: string): Promise<Run | undefined>;
export async function runOf(context: Context, word: string, isMade?: 'make'): Promise<Run | undefined> {
  const { porthole, signal } = context;
  if (word.startsWith('run_')) return porthole.runs.get(word, { signal });
  const { id } = await holdSandbox(context, word);
  const found = await findRun(context, id, (title) => OURS.test(title));
  return found ?? (isMade === undefined ? undefined : runFor(context, id, TITLE));
}

/** The run and the port that the first two arguments name. */
export async function runAndPort(context: Context): Promise<{ readonly run: Run; readonly port: number }> {
  const [word = '', text = ''] = context.given.positionals;
  const port = readPort(text);
  return { run: await runOf(context, word, 'make'), port };
}

/** The run with that title in a sandbox, or a new one. */
export async function runFor(context: Context, sandboxId: string, title: string): Promise<Run> {
  const { porthole, signal } = context;
  const find = () => findRun(context, sandboxId, (each) => each === title);
  const found = await find();
  if (found !== undefined) return found;
  const made = await porthole.run({ sandboxId, title, signal });
  // Two commands at the same time share the older run, and its URL.
  const oldest = (await find()) ?? made;
  if (oldest.id !== made.id) await made.complete({ signal });
  return oldest;
}

async function findRun(
  { porthole, signal }: Context,
  sandboxId: string,
  isWanted: (title: string) => boolean,
): Promise<Run | undefined> {
  for await (const run of porthole.runs.list({ sandboxId, status: 'running', sort: 'oldest', signal })) {
    if (isWanted(run.info.title ?? '')) return run;
  }
  return undefined;
}
