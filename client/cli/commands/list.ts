import type { SandboxInfo } from '../../resources/sandbox-info.ts';
import type { ListFilter } from '../../http/pages.ts';
import type { RunInfo } from '../../resources/run.ts';
import { type CommandSpec, type Context, type Given, joinWithOr, readChoice } from '../command.ts';
import { readDuration, readTags } from '../read-values.ts';
import { showTable } from '../print.ts';

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
] as const;

/** Time since an instant, e.g. `3h`; seconds below a minute. */
export function ago(instant: string, now: Date): string {
  const seconds = Math.max(0, Math.floor((now.getTime() - Date.parse(instant)) / 1_000));
  const [unit, length] = UNITS.find(([, each]) => seconds >= each) ?? ['s', 1];
  return `${Math.floor(seconds / length)}${unit}`;
}

const STATES = ['creating', 'running', 'stopped'] as const;
const SORTS = ['newest', 'oldest', 'active', 'name'] as const;
const STATUSES = ['running', 'completed'] as const;
const RUN_SORTS = ['newest', 'oldest', 'title'] as const;

/** The options of both lists. */
const FILTER_OPTIONS = {
  search: { type: 'string', value: 'TEXT', help: 'only those with the text in a name or id' },
  image: { type: 'string', value: 'IMAGE', help: 'only those of the image' },
  owner: { type: 'string', value: 'USER', help: 'only those of the user (for admins)' },
  since: { type: 'string', value: 'TIME', help: 'only those made within a time such as 2h' },
} as const satisfies CommandSpec['options'];

function readFilter(given: Given): ListFilter {
  const since = given.text('since');
  return {
    search: given.text('search'),
    image: given.text('image'),
    owner: given.text('owner'),
    createdAfter:
      since === undefined ? undefined : new Date(Date.now() - readDuration('since', since) * 1_000),
  };
}

export const listCommand: CommandSpec = {
  name: 'list',
  usage: '',
  summary: 'list your sandboxes, newest first',
  options: {
    tag: { type: 'string', multiple: true, value: 'KEY=VALUE', help: 'only those that have it' },
    state: {
      type: 'string',
      value: 'STATE',
      choices: STATES,
      help: `only those that are ${joinWithOr(STATES)}`,
    },
    ...FILTER_OPTIONS,
    sort: { type: 'string', value: 'ORDER', choices: SORTS, help: SORTS.join(', ') },
  },
  examples: [
    ['porthole list --state running', 'those that run'],
    ['porthole list --search web --since 1d', 'those of the last day with web in a name'],
    ['porthole list --tag thread_id=42 --json', 'those of a conversation, for a program'],
  ],
  async run(context) {
    const { given, porthole, signal } = context;
    const options = {
      ...readFilter(given),
      tags: readTags(given.texts('tag')),
      state: readChoice(given, 'state', STATES),
      sort: readChoice(given, 'sort', SORTS),
      signal,
    };
    const found: SandboxInfo[] = [];
    for await (const { info } of porthole.sandboxes.list(options)) if (info !== undefined) found.push(info);
    return show(context, found, rowOfSandbox, [
      ['ID', 'NAME', 'STATE', 'AGE', 'IMAGE', 'TAGS'],
      'No sandbox matches.',
      'No sandboxes. Make one: porthole create --name try',
    ]);
  },
};

export const runsCommand: CommandSpec = {
  name: 'runs',
  usage: '',
  summary: 'list your runs, newest first',
  options: {
    status: {
      type: 'string',
      value: 'STATUS',
      choices: STATUSES,
      help: `only those that are ${joinWithOr(STATUSES)}`,
    },
    sandbox: { type: 'string', value: 'SANDBOX', help: 'only those in the sandbox' },
    tag: { type: 'string', value: 'KEY=VALUE', help: 'only those in a sandbox that has it' },
    ...FILTER_OPTIONS,
    sort: { type: 'string', value: 'ORDER', choices: RUN_SORTS, help: RUN_SORTS.join(', ') },
  },
  examples: [
    ['porthole runs --status running', 'those that are not completed'],
    ['porthole runs --search checkout --json', 'those with checkout in a title, for a program'],
  ],
  async run(context) {
    const { given, porthole, signal } = context;
    const tag = given.text('tag');
    const options = {
      ...readFilter(given),
      status: readChoice(given, 'status', STATUSES),
      sandboxId: given.text('sandbox'),
      tag: tag === undefined ? undefined : Object.entries(readTags([tag]))[0],
      sort: readChoice(given, 'sort', RUN_SORTS),
      signal,
    };
    const found: RunInfo[] = [];
    for await (const { info } of porthole.runs.list(options)) found.push(info);
    return show(context, found, rowOfRun, [
      ['ID', 'STATUS', 'AGE', 'SANDBOX', 'OWNER', 'TITLE'],
      'No run matches.',
      'No runs.',
    ]);
  },
};

/** Prints a list as JSON or as a table, or why it is empty: for a filter, and without one. */
async function show<T>(
  context: Context,
  found: readonly T[],
  rowOf: (each: T, now: Date) => readonly string[],
  [head, noMatch, none]: readonly [readonly string[], string, string],
): Promise<number> {
  const names = ['tag', 'state', 'status', 'sandbox', ...Object.keys(FILTER_OPTIONS)];
  const isFiltered = names.some((name) => context.given.text(name) !== undefined);
  const now = new Date();
  const rows = [head, ...found.map((each) => rowOf(each, now))];
  return showTable(context, found, rows, isFiltered ? noMatch : none);
}

function rowOfRun(run: RunInfo, now: Date): readonly string[] {
  return [run.run_id, run.status, ago(run.created_at, now), run.sandbox_id, run.owner, run.title ?? '-'];
}

function rowOfSandbox(sandbox: SandboxInfo, now: Date): readonly string[] {
  const { id, name, state, image, created_at: createdAt, tags } = sandbox;
  const words = Object.entries(tags).map(([key, value]) => `${key}=${value}`);
  // The filter has the same name.
  return [id, name ?? '-', state, ago(createdAt, now), image ?? 'default', words.join(' ')];
}
