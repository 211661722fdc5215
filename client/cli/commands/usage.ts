import { USAGE_GROUPS, type UsageGroup, type UsageRow } from '../../resources/usage.ts';
import { type CommandSpec, joinWithOr, UsageError } from '../command.ts';
import { showTable, sizeOf } from '../print.ts';

const DAY = { type: 'string', value: 'YYYY-MM-DD' } as const;

export const usageCommand: CommandSpec = {
  name: 'usage',
  usage: '[sandbox|run|owner|org|day]…',
  summary: 'list what sandboxes have used, by day or by what you name',
  details: 'Yours, and for admins that of everyone. ~ after a row: a counter was away, so it is an estimate.',
  options: {
    sandbox: { type: 'string', value: 'SANDBOX', help: 'only of this sandbox' },
    run: { type: 'string', value: 'RUN', help: 'only of this run' },
    owner: { type: 'string', value: 'USER', help: 'only of this user' },
    org: { type: 'string', value: 'ORG', help: 'only of this organisation' },
    from: { ...DAY, help: 'from this day in UTC on; default: 30 days ago' },
    to: { ...DAY, help: 'to this day; default: today' },
  },
  json: 'print one sum per line, as the API has it',
  examples: [
    ['porthole usage', 'the last 30 days, day by day'],
    ['porthole usage sandbox', 'the sum of each sandbox'],
    ['porthole usage owner day', 'each user and day'],
  ],
  async run(context) {
    const { given, porthole, signal, show } = context;
    const by = groupsOf(given.positionals);
    const filter = {
      by,
      sandbox: given.text('sandbox'),
      run: given.text('run'),
      owner: given.text('owner'),
      org: given.text('org'),
      from: given.text('from'),
      to: given.text('to'),
      signal,
    };
    if (given.is('json')) {
      for await (const row of porthole.usage.list(filter)) await show(row);
      return 0;
    }
    const rows: UsageRow[] = [];
    for await (const row of porthole.usage.list(filter)) rows.push(row);
    const head = ['vCPU s', 'GiB s', 'disk GiB s', 'egress', 'previews', 'looks s', ''];
    const shown = rows.map((row) => [...by.map((name) => row[name] ?? '-'), ...amountsOf(row)]);
    return showTable(context, rows, [[...by, ...head], ...shown], 'Nothing was used.');
  },
};

function groupsOf(given: readonly string[]): readonly UsageGroup[] {
  const unknown = given.find((each) => !USAGE_GROUPS.some((group) => group === each));
  if (unknown !== undefined) {
    throw new UsageError(
      `usage groups by ${joinWithOr(USAGE_GROUPS)}, got ${JSON.stringify(unknown.slice(0, 80))}.`,
    );
  }
  return given.length === 0 ? ['day'] : (given as UsageGroup[]);
}

function amountsOf(row: UsageRow): readonly string[] {
  const seconds = [row.vcpu_s, row.memory_gib_s, row.disk_gib_s].map((value) => value.toFixed(1));
  const traffic = [row.egress_bytes, row.preview_bytes].map(sizeOf);
  return [...seconds, ...traffic, row.look_s.toFixed(1), row.estimated ? '~' : ''];
}
