import type { SandboxInfo } from '../../sandboxes/sandbox-info.ts';
import { type CommandSpec, JSON_OPTION, UsageError } from '../command.ts';
import { plain } from '../plain.ts';
import { readTags } from '../read-pairs.ts';
import { table } from '../table.ts';

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

export const listCommand: CommandSpec = {
  name: 'list',
  usage: '',
  summary: 'list your sandboxes, newest first',
  options: {
    tag: { type: 'string', multiple: true, value: 'KEY=VALUE', help: 'only those that have it' },
    state: { type: 'string', value: 'STATE', help: `only those that are ${STATES.join(', ')}` },
    ...JSON_OPTION,
  },
  examples: [
    ['porthole list --state running', 'those that run'],
    ['porthole list --tag thread_id=42 --json', 'those of a conversation, for a program'],
  ],
  positionals: [0, 0],
  async run({ given, porthole, signal, print, note }) {
    const state = STATES.find((each) => each === given.text('state'));
    if (given.text('state') !== undefined && state === undefined) {
      throw new UsageError(
        `--state must be one of ${STATES.join(', ')}, got ${JSON.stringify(given.text('state'))}.`,
      );
    }
    const found: SandboxInfo[] = [];
    for await (const { info } of porthole.sandboxes.list({
      tags: readTags(given.texts('tag')),
      state,
      signal,
    })) {
      if (info !== undefined) found.push(info);
    }
    if (given.is('json')) await print(JSON.stringify(found));
    else if (found.length === 0) await note('No sandboxes. Make one: porthole create --name try');
    else await print(lines(found, new Date()).join('\n'));
    return 0;
  },
};

function lines(sandboxes: readonly SandboxInfo[], now: Date): readonly string[] {
  const rows = sandboxes.map(({ id, name, state, image, created_at: createdAt, tags }) => [
    id,
    name ?? '-',
    state,
    ago(createdAt, now),
    image ?? '-',
    Object.entries(tags)
      .map(([key, value]) => `${key}=${value}`)
      .join(' '),
  ]);
  return table([['ID', 'NAME', 'STATE', 'AGE', 'IMAGE', 'TAGS'], ...rows.map((row) => row.map(plain))]);
}
