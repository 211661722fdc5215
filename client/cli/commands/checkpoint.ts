import type {
  Checkpoint,
  CheckpointChanges,
  Checkpoints,
  RestoredCheckpoint,
} from '../../resources/checkpoints.ts';
import { type CommandSpec, type Context, UsageError } from '../command.ts';
import { findSandbox } from '../hold-sandbox.ts';
import { plain, showTable, sizeOf } from '../print.ts';

const ACTIONS = ['list', 'restore', 'delete'] as const;

export const checkpointCommand: CommandSpec = {
  name: 'checkpoint',
  usage: '<sandbox> [label]',
  summary: 'keep the files and servers of a sandbox as they are, and go back to them',
  details:
    'Makes a checkpoint and prints its id. What is stored is what has changed since the one before. Going back makes a checkpoint of the present first.',
  options: {
    list: { type: 'boolean', help: 'list the checkpoints instead' },
    restore: { type: 'string', value: 'ID', help: 'go back to one instead; servers restart' },
    delete: { type: 'string', value: 'ID', help: 'delete one instead' },
  },
  examples: [
    ['porthole checkpoint try "before the redesign"', 'keep the files as they are'],
    ['porthole checkpoint try --list', 'the newest last; * is the one that it is at'],
    ['porthole checkpoint try --restore ckp_01…', 'go back'],
  ],
  async run(context) {
    const { given, signal, show, note } = context;
    const [, label] = given.positionals;
    const chosen = ACTIONS.filter((name) => given.is(name) || given.text(name) !== undefined);
    if (chosen.length > 1 || (chosen.length > 0 && label !== undefined)) {
      throw new UsageError('give a label, --list, --restore or --delete: one of them.');
    }
    const { checkpoints } = await findSandbox(context);
    if (given.is('list')) return listCheckpoints(context, checkpoints);
    const deleted = given.text('delete');
    if (deleted !== undefined) {
      await checkpoints.delete(deleted, { signal });
      return show({ deleted }, plain(`${deleted} deleted`));
    }
    const restored = given.text('restore');
    if (restored !== undefined) {
      const done = await checkpoints.restore(restored, { signal });
      await note(restoredNote(done));
      return show(done, done.checkpoint);
    }
    const made = await checkpoints.create({ label, signal });
    await note(plain(`${made.files} files, ${sizeOf(made.stored_bytes)} stored${warningOf(made)}`));
    return show(made, made.id);
  },
};

function restoredNote({ written, removed, before }: RestoredCheckpoint): string {
  const back = `porthole checkpoint … --restore ${before.id}`;
  return plain(`${written} written, ${removed} removed. Go back with ${back}`);
}

async function listCheckpoints(context: Context, checkpoints: Checkpoints): Promise<number> {
  const list = await checkpoints.list({ signal: context.signal });
  const rows = list.checkpoints.map((each) => [
    each.id === list.current ? '*' : '',
    each.id,
    each.created_at,
    String(each.files),
    sizeOf(each.stored_bytes),
    each.label ?? each.cause,
  ]);
  const head = ['', 'ID', 'MADE', 'FILES', 'STORED', 'LABEL'];
  return showTable(context, list, [head, ...rows], 'No checkpoints.');
}

function warningOf({ left_out: leftOut, consistent }: Checkpoint): string {
  const missing = leftOut === 0 ? '' : `; ${leftOut} left out, because the sandbox may not read them`;
  return consistent ? missing : `${missing}; some files changed meanwhile`;
}

export const forkCommand: CommandSpec = {
  name: 'fork',
  usage: '<sandbox> [checkpoint]',
  summary: 'make sandboxes with the files and servers of another one',
  details:
    'Without a checkpoint, one is made of the present. Prints the ids of the new sandboxes, and the URLs of their previews.',
  options: {
    count: { type: 'string', value: 'N', help: 'how many, at most 20; default 1' },
    variable: {
      type: 'string',
      value: 'NAME',
      multiple: true,
      help: 'a variable or secret that they get, too; default none',
    },
    previews: { type: 'boolean', help: 'open the previews of the original in each, at new URLs' },
    keep: { type: 'string', value: 'FORK', help: 'go over to this fork instead; previews keep their URLs' },
    delete: { type: 'boolean', help: 'with --keep: delete the fork then' },
  },
  examples: [
    ['porthole fork try --count 3', 'three copies to try three ways'],
    ['porthole fork try --count 3 --previews', 'with a live page of each'],
    ['porthole fork try --keep FORK --delete', 'keep the best one'],
    ['porthole fork try ckp_01… --variable API_URL', 'as it was, with one variable'],
  ],
  async run(context) {
    const { given, signal, show, note } = context;
    const count = readCount(given.text('count'));
    const kept = given.text('keep');
    if (kept === undefined && given.is('delete')) throw new UsageError('--delete goes with --keep.');
    const { checkpoints } = await findSandbox(context);
    if (kept !== undefined) {
      const { id: fork } = await findSandbox(context, kept);
      const done = await checkpoints.keep(fork, { delete: given.is('delete'), signal });
      await note(restoredNote(done));
      return show(done, fork);
    }
    const id = given.positionals[1] ?? (await checkpoints.create({ label: 'fork', signal })).id;
    const asked = { count, previews: given.is('previews'), variables: given.texts('variable'), signal };
    const forks = await checkpoints.fork(id, asked);
    for (const { error } of forks.errors) await note(plain(`porthole: ${error}`));
    const lines = forks.sandboxes.map(({ id: fork, previews }) => [
      fork,
      ...previews.map(({ port, url }) => `${port} ${url ?? 'without a URL'}`),
    ]);
    await show(forks, ...lines.map((each) => each.join('  ')));
    return forks.errors.length === 0 ? 0 : 1;
  },
};

/** @throws UsageError */
function readCount(text = '1'): number {
  if (/^(?:[1-9]|1\d|20)$/.test(text)) return Number(text);
  throw new UsageError(
    `--count must be a whole number from 1 to 20, got ${JSON.stringify(text.slice(0, 40))}.`,
  );
}

const LETTERS = { added: 'A', changed: 'M', removed: 'D' } as const;

export const diffCommand: CommandSpec = {
  name: 'diff',
  usage: '<sandbox> [checkpoint or sandbox] [later]',
  summary: 'list what differs between checkpoints of a sandbox, or between forks',
  details:
    'Without a later one: what has changed until now; without any: since the newest one. With a fork: what differs in it. A is added, M changed, D removed.',
  examples: [
    ['porthole diff try', 'what has changed since the last checkpoint'],
    ['porthole diff try ckp_01… ckp_02…', 'between the two'],
    ['porthole diff try other', 'from one sandbox to a fork of it'],
  ],
  async run(context) {
    const { given, signal, show } = context;
    const [word = '', first, later] = given.positionals;
    const { checkpoints } = await findSandbox(context);
    if (first !== undefined && !first.startsWith('ckp_')) return compareForks(context, checkpoints, first);
    const since = first ?? (await checkpoints.list({ signal })).checkpoints.at(-1)?.id;
    if (since === undefined)
      throw new UsageError(`${word} has no checkpoint: porthole checkpoint ${word} makes one.`);
    const found =
      later === undefined
        ? await changesUntilNow(checkpoints, since, signal)
        : await checkpoints.changes(later, { since, signal });
    return show(found, ...linesOf(found));
  },
};

function linesOf({ changes, total }: Pick<CheckpointChanges, 'changes' | 'total'>): string[] {
  const lines = changes.map(({ path, change }) => plain(`${LETTERS[change]} ${path}`));
  if (total > lines.length) lines.push(`… and ${total - lines.length} more`);
  return lines;
}

async function compareForks(context: Context, checkpoints: Checkpoints, word: string): Promise<number> {
  const { id } = await findSandbox(context, word);
  const found = await checkpoints.compare(id, { signal: context.signal });
  const servers = found.servers.map(({ name, one, other }) =>
    plain(`server ${name}: ${one?.state ?? 'none'} → ${other?.state ?? 'none'}`),
  );
  return context.show(found, ...linesOf(found), ...servers);
}

/** By a checkpoint of the present, which is deleted again. */
async function changesUntilNow(
  checkpoints: Checkpoints,
  since: string,
  signal: AbortSignal,
): Promise<CheckpointChanges> {
  const { id } = await checkpoints.create({ label: 'porthole diff', signal });
  try {
    return await checkpoints.changes(id, { since, signal });
  } finally {
    await checkpoints.delete(id);
  }
}
