import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { AuditError, verifyAudit } from '../../node/verify-audit.ts';
import type { AuditEvent, AuditFilter, AuditHeads } from '../../resources/audit.ts';
import { type CommandSpec, type Context, readChoice, UsageError } from '../command.ts';
import { plain } from '../print.ts';

const FORMATS = ['ocsf'] as const;
const MAX_LAST = 10_000;

export const auditCommand: CommandSpec = {
  name: 'audit',
  usage: '[list|heads|verify] [file]',
  summary: 'list what happened, or verify that no row of it was changed; for admins',
  details:
    'verify reads a file that audit --json wrote, or else the server. Keep the output of audit heads elsewhere: with --heads, verify also finds rows that were removed at the end.',
  options: {
    type: { type: 'string', value: 'TYPE', help: 'only events of this type' },
    subject: { type: 'string', value: 'SUBJECT', help: 'only of this subject, such as sandbox/ID' },
    user: { type: 'string', value: 'USER', help: 'only by, for or of this user' },
    last: { type: 'string', value: 'NUMBER', help: 'only the newest NUMBER events' },
    format: {
      type: 'string',
      value: 'FORMAT',
      choices: FORMATS,
      help: 'ocsf: print one OCSF event per line',
    },
    heads: { type: 'string', value: 'FILE', help: 'verify: signed heads and keys that audit heads wrote' },
  },
  json: 'print one event per line, as the API has it',
  examples: [
    ['porthole audit --user alice', 'what alice did, and what happened to what is hers'],
    ['porthole audit --last 20', 'the newest 20, oldest first'],
    ['porthole audit --format ocsf', 'the same as OCSF events'],
    ['porthole audit --json > audit.jsonl', 'a copy that audit verify reads'],
    ['porthole audit verify', 'exit code 1, and the row, if one was changed'],
    ['porthole audit heads > heads.json', 'the signed heads, to be kept elsewhere'],
  ],
  async run(context) {
    const [what = 'list', file] = context.given.positionals;
    if (what === 'verify') return verifyRows(context, file);
    if (file !== undefined) throw new UsageError('Only verify reads a file: porthole audit verify FILE.');
    if (what === 'list') return listRows(context);
    if (what !== 'heads')
      throw new UsageError(`audit does list, heads or verify, got ${JSON.stringify(what)}.`);
    const heads = await context.porthole.audit.heads(0, { signal: context.signal });
    return context.show(heads, JSON.stringify(heads));
  },
};

async function listRows({ given, porthole, signal, show, print }: Context): Promise<number> {
  const last = readLast(given.text('last'));
  const filter: AuditFilter = {
    type: given.text('type') as AuditEvent['type'] | undefined,
    subject: given.text('subject'),
    user: given.text('user'),
    ...(last !== undefined && { order: 'desc', limit: Math.min(last, 1_000) }),
    signal,
  };
  if (readChoice(given, 'format', FORMATS) === 'ocsf') {
    for await (const event of lastOf(porthole.auditAsOcsf(filter), last)) await print(JSON.stringify(event));
    return 0;
  }
  for await (const event of lastOf(porthole.audit.events(filter), last)) {
    const { seq, time, type, subject, result, actor, on_behalf_of: behalf } = event;
    const who = actor === null ? 'redacted' : [actor.kind, actor.id].filter(Boolean).join(' ');
    const whom = behalf === null ? '' : ` for ${behalf}`;
    const denied = result === 'denied' ? ', denied' : '';
    await show(event, plain(`${seq} ${time} ${type} ${subject} by ${who}${whom}${denied}`));
  }
  return 0;
}

function readLast(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const last = Number(text);
  if (/^\d+$/.test(text) && last >= 1 && last <= MAX_LAST) return last;
  throw new UsageError(`--last must be a number from 1 to ${MAX_LAST}, got ${JSON.stringify(text)}.`);
}

/** All of them; or the first so many, which are the newest, the oldest of them first. */
async function* lastOf<Item>(
  items: AsyncIterable<Item>,
  last: number | undefined,
): AsyncGenerator<Item, void> {
  const newest: Item[] = [];
  for await (const item of items) {
    if (last === undefined) yield item;
    else if (newest.push(item) === last) break;
  }
  yield* newest.toReversed();
}

async function verifyRows({ given, porthole, signal, show }: Context, file?: string): Promise<number> {
  const kept = given.text('heads');
  const heads =
    kept !== undefined
      ? (JSON.parse(await readFile(kept, 'utf8')) as AuditHeads)
      : file === undefined
        ? await porthole.audit.heads(0, { signal })
        : undefined;
  const rows = file === undefined ? porthole.audit.events({ signal }) : rowsOf(file);
  try {
    const verified = await verifyAudit(rows, heads);
    const { rows: count, first, last, heads: matching, redacted } = verified;
    const range = count === 0 ? 'no rows' : `rows ${first} to ${last}`;
    return await show(verified, `The audit holds: ${range}, ${matching} signed heads, ${redacted} redacted.`);
  } catch (error) {
    if (!(error instanceof AuditError)) throw error;
    await show({ error: error.message }, error.message);
    return 1;
  }
}

async function* rowsOf(file: string): AsyncGenerator<AuditEvent, void> {
  let line = 0;
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    line += 1;
    if (text.trim() === '') continue;
    try {
      yield JSON.parse(text) as AuditEvent;
    } catch {
      throw new AuditError(`Line ${line} of ${file} is not JSON: write it with porthole audit --json.`);
    }
  }
}
