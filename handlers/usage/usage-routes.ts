import { z } from 'zod';
import { type Caller, listedOwner, requirePerson } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import { SANDBOX_ID } from '#core/sandboxes/sandbox-owner.ts';
import { dayOf } from '#core/usage/usage-days.ts';
import { USAGE_GROUPS, type UsageFilter, type UsageGroup, type UsageSum } from '#core/usage/usage-store.ts';
import { defineRoute, ID_PATTERN, json } from '../route.ts';
import type { Services } from '../services.ts';
import { usageCsv } from './usage-csv.ts';

const DAY_MS = 86_400_000;
/** Days that a request has if it names none, and at most. */
const DAYS = 30;
const MAX_DAYS = 400;
/** Counters are read each minute: one that was not is away. */
const OVERDUE_MS = 150_000;
const MAX_LIMIT = 1_000;
/** Rows of one CSV. */
const MAX_CSV_ROWS = 10_000;

const group = `(${USAGE_GROUPS.join('|')})`;
export const GROUPS_PATTERN = `^${group}(,${group}){0,4}$`;
const amount = (what: string) => z.number().min(0).describe(what);
const grouped = (what: string) => z.string().nullable().describe(`${what}; null unless grouped by it`);

export const UsageDto = z
  .object({
    sandbox: grouped('Id of the sandbox'),
    run: grouped('Id of the run, also null for sandboxes in no run'),
    owner: grouped('User name of the owner'),
    org: grouped('Organisation of the owner'),
    day: grouped('Day in UTC'),
    vcpu_s: amount('CPU time in seconds'),
    memory_gib_s: amount('GiB of memory, times seconds'),
    disk_gib_s: amount('GiB of disk that are reserved, times seconds, from creation to deletion'),
    egress_bytes: amount('Bytes that sandboxes sent to the internet'),
    preview_bytes: amount('Bytes of previews, to and from visitors'),
    look_s: amount('Seconds that a browser had pages open'),
    estimated: z.boolean().describe('A counter was away: some usage may be missing, or on another day'),
  })
  .meta({ id: 'Usage' });

/** A row as the API has it. */
export type UsageRow = z.infer<typeof UsageDto>;

const thousandths = (value: number): number => Math.round(value * 1_000) / 1_000;

function toRow({ group, ...sum }: UsageSum): UsageRow {
  return {
    sandbox: group.sandbox ?? null,
    run: group.run || null,
    owner: group.owner ?? null,
    org: group.org ?? null,
    day: group.day ?? null,
    vcpu_s: thousandths(sum.vcpuS),
    memory_gib_s: thousandths(sum.memoryGibS),
    disk_gib_s: thousandths(sum.diskGibS),
    egress_bytes: Math.round(sum.egressBytes),
    preview_bytes: Math.round(sum.previewBytes),
    look_s: thousandths(sum.lookS),
    estimated: sum.estimated,
  };
}

const day = z.iso.date('must be a day, YYYY-MM-DD');

const query = z.object({
  by: z
    .string()
    .regex(new RegExp(GROUPS_PATTERN), `must be some of ${USAGE_GROUPS.join(', ')}, with commas`)
    .default('day')
    .describe('What to group by: `owner,day`. With `owner`, also by its organisation'),
  sandbox: z.string().regex(SANDBOX_ID, 'must be the id of a sandbox').optional(),
  run: z.string().regex(new RegExp(ID_PATTERN), 'must be the id of a run').optional(),
  owner: z.string().max(300).optional().describe('User name of the owner'),
  org: z.string().max(300).optional(),
  from: day.optional().describe(`First day in UTC. Default: ${DAYS} days ago`),
  to: day.optional().describe('Last day in UTC. Default: today'),
  format: z.enum(['json', 'csv']).default('json').describe('`csv` has all rows, without pages'),
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).default(MAX_LIMIT),
  after: z.coerce.number().int().min(0).max(1_000_000).default(0).describe('`next` of the last page'),
});

export const usageRoute = defineRoute('getUsage', 'GET', '/v1/usage', {
  tag: 'Usage',
  summary: 'What sandboxes have used',
  description:
    'Sums by sandbox, run, owner, organisation or day. Running sandboxes are counted once a minute and when they stop. You see your own, an admin that of everyone, an agent that of its sandbox. Kept for 13 months.',
  agents: true,
  query,
  responses: {
    200: {
      description: 'The sums, ordered by what they are grouped by',
      schema: z
        .object({ usage: z.array(UsageDto), next: z.string().nullable().describe('Null: no more') })
        .meta({ id: 'UsageList' }),
      contentType: 'text/csv',
    },
  },
  errors: ['forbidden'],
  async handle({ query: asked, caller }, services) {
    const by = groupsOf(asked.by);
    const filter = filterOf(asked, caller, services.clock.now());
    if (asked.format === 'csv') return csv(by, filter, services);
    const { limit, after } = asked;
    // One more than requested shows whether another page follows.
    const rows = await sums(by, filter, { offset: after, limit: limit + 1 }, services);
    const next = rows.length > limit ? String(after + limit) : null;
    return json(200, { usage: rows.slice(0, limit).map(toRow), next }, NO_STORE);
  },
});

const NO_STORE = { 'cache-control': 'no-store' };

function groupsOf(by: string): readonly UsageGroup[] {
  const groups = new Set(by.split(',') as UsageGroup[]);
  // Two organisations may have users of one name.
  if (groups.has('owner')) groups.add('org');
  return USAGE_GROUPS.filter((each) => groups.has(each));
}

/** @throws PortholeError `invalid_request`, `forbidden` */
function filterOf(asked: z.infer<typeof query>, caller: Caller, now: Date): UsageFilter {
  const { owner: user, org, run: runId } = asked;
  const to = asked.to ?? dayOf(now);
  const from = asked.from ?? dayOf(new Date(Date.parse(to) - (DAYS - 1) * DAY_MS));
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
  if (days < 1) throw invalid(`from ${from} is after to ${to}`, 'Exchange them.');
  if (days > MAX_DAYS)
    throw invalid(`from ${from} to ${to} are ${days} days`, `Ask for ${MAX_DAYS} at most.`);
  const filter = { user, org, runId, from, to };
  if (caller.kind !== 'agent') {
    const owner = listedOwner(requirePerson(caller, 'read usage'));
    return { ...filter, owner, sandboxId: asked.sandbox };
  }
  if (asked.sandbox !== undefined && asked.sandbox !== caller.sandboxId)
    throw new PortholeError('forbidden', `An agent may read only the usage of sandbox ${caller.sandboxId}`);
  return { ...filter, owner: caller.owner, sandboxId: caller.sandboxId };
}

function invalid(what: string, remedy: string): PortholeError {
  return new PortholeError('invalid_request', `query: ${what}`, { remedy });
}

function sums(
  by: readonly UsageGroup[],
  filter: UsageFilter,
  page: { readonly offset: number; readonly limit: number },
  { records, clock }: Pick<Services, 'records' | 'clock'>,
): Promise<readonly UsageSum[]> {
  return records.usage.sum(by, filter, page, new Date(clock.now().getTime() - OVERDUE_MS));
}

async function csv(by: readonly UsageGroup[], filter: UsageFilter, services: Services) {
  const rows = await sums(by, filter, { offset: 0, limit: MAX_CSV_ROWS + 1 }, services);
  if (rows.length > MAX_CSV_ROWS)
    throw invalid(`more than ${MAX_CSV_ROWS} rows`, 'Ask for fewer days, or group by less.');
  const headers = { 'content-type': 'text/csv; charset=utf-8; header=present', ...NO_STORE };
  return { statusCode: 200, headers, body: usageCsv(by, rows.map(toRow)) };
}
