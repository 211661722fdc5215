import { text as readText } from 'node:stream/consumers';
import { renderUnicodeCompact } from 'uqr';
import { loopbackNote } from '../../loopback-url.ts';
import type { PreviewSharing } from '../../resources/preview-sharing.ts';
import { type CommandSpec, type Context, joinWithOr, readChoice, UsageError } from '../command.ts';
import { plain, showTable } from '../print.ts';
import { readDuration, readPort } from '../read-values.ts';
import { runOf } from '../run-of.ts';

const SHARING = ['private', 'view', 'work'] as const;
const LINK_LEVELS = ['link', 'signed_in', 'org'] as const;
/** Options that are about the preview of a run, and not about the run. */
const LINK_OPTIONS = ['level', 'label', 'expires', 'uses', 'revoke', 'name'];
const LINK_SWITCHES = ['may-wake', 'password-stdin', 'qr', 'list'];

export const shareCommand: CommandSpec = {
  name: 'share',
  usage: '<sandbox|run|preview> [port|private|view|work]',
  summary: 'make a link to a preview, or share a run with the people of your organisation',
  details:
    'With a port, the URL of a preview, or an option: makes a link, and prints it once. Without: prints how the run is shared. A run that has one preview needs no port.',
  options: {
    label: { type: 'string', value: 'TEXT', help: 'whom the link is for; default "porthole share"' },
    level: {
      type: 'string',
      value: 'LEVEL',
      choices: LINK_LEVELS,
      help: `who may use it: ${joinWithOr(LINK_LEVELS)}; default link, anyone with the link`,
    },
    expires: { type: 'string', value: 'TIME', help: 'when it ends, such as 1d; default never' },
    uses: { type: 'string', value: 'N', help: 'how many visitors may use it; default any number' },
    'may-wake': { type: 'boolean', help: 'its visitors may start the preview while it is stopped' },
    'password-stdin': { type: 'boolean', help: 'visitors are asked for a password, which stdin has' },
    qr: { type: 'boolean', help: 'print it as a QR code, too' },
    list: { type: 'boolean', help: 'list the links instead' },
    revoke: { type: 'string', value: 'ID', help: 'revoke a link instead' },
    name: {
      type: 'string',
      value: 'NAME',
      help: 'give the preview a host with this name instead, if its level is below link; "" gives the name back',
    },
  },
  examples: [
    ['porthole share try 3000 --expires 1d --label "for carol"', 'a link to the preview of port 3000'],
    ['porthole share try 3000 --list', 'its links, and how many visitors they had'],
    ['porthole share try 3000 --name shop-demo', 'it is also at https://shop-demo-preview.{zone}'],
    ['porthole share run_01… view', 'they see the run, its previews, files and output'],
    ['porthole share run_01… private', 'stop sharing; their open terminals end'],
  ],
  run(context) {
    const { given } = context;
    const [word = '', what] = given.positionals;
    const isLink =
      (what === undefined ? isUrl(word) : /^\d/.test(what)) ||
      LINK_OPTIONS.some((name) => given.text(name) !== undefined) ||
      LINK_SWITCHES.some((name) => given.is(name));
    return isLink ? sharePreview(context) : shareRun(context);
  },
};

function isUrl(word: string): boolean {
  return /^https?:\/\//.test(word) && URL.canParse(word);
}

async function shareRun(context: Context): Promise<number> {
  const { given, signal, show } = context;
  const [word = '', text] = given.positionals;
  const sharing = SHARING.find((mode) => mode === text);
  if (text !== undefined && sharing === undefined) {
    throw new UsageError(`share it as ${joinWithOr(SHARING)}, got ${JSON.stringify(text)}.`);
  }
  const run = await runOf(context, word, 'make');
  const info = sharing === undefined ? run.info : await run.share(sharing, { signal });
  return show(info, plain(`${info.run_id} ${info.sharing}`));
}

async function sharePreview(context: Context): Promise<number> {
  const { given, streams, signal, show, note } = context;
  const revoked = given.text('revoke');
  if (revoked === '') throw new UsageError('--revoke must be the id of a link, got "": --list names them.');
  const level = readChoice(given, 'level', LINK_LEVELS);
  const expires = given.text('expires');
  const expiresInSeconds = expires === undefined ? undefined : readDuration('expires', expires);
  const maxUses = readUses(given.text('uses'));
  const password = given.is('password-stdin') ? await readPassword(streams.stdin) : undefined;
  const isNew = revoked === undefined && !given.is('list');
  const sharing = await sharingOf(context, isNew);
  if (revoked !== undefined) {
    await sharing.revokeLink(revoked, { signal });
    return show({ revoked }, plain(`${revoked} revoked`));
  }
  if (given.is('list')) return listLinks(context, sharing);
  const name = given.text('name');
  if (name !== undefined) {
    const { level: current } = await sharing.access({ signal });
    const named = await sharing.setAccess(current, { name: name === '' ? null : name, password, signal });
    return show(named, named.url ?? plain('The preview has no name.'));
  }
  const label = given.text('label') ?? 'porthole share';
  const link = await sharing.createLink({
    label,
    level,
    expiresInSeconds,
    maxUses,
    mayWake: given.is('may-wake'),
    password,
    signal,
  });
  if (!given.is('json')) await note(plain(`${link.id} until ${link.expires_at ?? 'it is revoked'}`));
  await show(link, link.url);
  const onlyHere = loopbackNote(link.url);
  if (given.is('qr') && onlyHere === undefined) await note(qrCode(link.url, streams.stderr.isTTY));
  if ((await sharing.access({ signal })).level === 'link') {
    await note(
      'porthole: anyone with the link of the preview itself can see the app, also after this link ends.',
    );
  }
  if (onlyHere !== undefined) await note(`porthole: ${onlyHere}`);
  return 0;
}

/** A new link starts the preview of the port if that is needed. */
async function sharingOf(context: Context, isNew: boolean): Promise<PreviewSharing> {
  const { given, porthole, signal } = context;
  const [word = '', text] = given.positionals;
  if (isUrl(word)) {
    const [label = ''] = new URL(word).hostname.split('.');
    return porthole.sharing(label.replace(/-preview$/, ''));
  }
  const port = text === undefined ? undefined : readPort(text);
  const run = await runOf(context, word, 'make');
  if (port !== undefined && isNew) return (await run.preview(port, { keepAliveMs: 0, signal })).sharing;
  const previews = await run.previews({ signal });
  const found = previews.filter((each) => port === undefined || each.port === port);
  const [only] = found;
  if (only !== undefined && found.length === 1) return only.sharing;
  if (port !== undefined) {
    throw new Error(`Port ${port} has no live preview. Start it: porthole preview ${word} ${port} --once`);
  }
  throw new UsageError(
    only === undefined
      ? `name a port: ${word} has no live preview.`
      : `name a port: ${word} has previews of ${found.map((each) => each.port).join(', ')}.`,
  );
}

async function listLinks(context: Context, sharing: PreviewSharing): Promise<number> {
  const links = await sharing.links({ signal: context.signal });
  const rows = links.map((link) => [
    link.id,
    link.has_password ? `${link.level}, password` : link.level,
    link.max_uses === null ? `${link.uses}` : `${link.uses} of ${link.max_uses}`,
    link.expires_at ?? '-',
    link.label,
  ]);
  return showTable(context, links, [['ID', 'LEVEL', 'VISITS', 'UNTIL', 'LABEL'], ...rows], 'No links.');
}

/** @throws UsageError */
function readUses(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new UsageError(`--uses must be a whole number above 0, got ${JSON.stringify(text.slice(0, 40))}.`);
}

/** A line, without its break. @throws UsageError */
async function readPassword(stdin: NodeJS.ReadStream): Promise<string> {
  const password = (await readText(stdin)).replace(/\r?\n$/, '');
  if (password !== '') return password;
  throw new UsageError('--password-stdin needs a password on the standard input, which is empty.');
}

/** White on black, whatever the theme of the terminal: scanners need the contrast. */
function qrCode(text: string, hasColours: boolean): string {
  const code = renderUnicodeCompact(text, { border: 2 });
  if (!hasColours) return code;
  return code
    .split('\n')
    .map((line) => `\u001b[97;40m${line}\u001b[0m`)
    .join('\n');
}
