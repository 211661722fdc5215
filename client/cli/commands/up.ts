import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join, posix } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { syncFolder } from '../../node/sync-folder.ts';
import type { Run } from '../../runs/run.ts';
import type { Server } from '../../runs/server.ts';
import type { Sandbox } from '../../sandboxes/sandbox.ts';
import type { NetworkOptions } from '../../sandboxes/sandbox-info.ts';
import { type CommandSpec, type Context, UsageError } from '../command.ts';
import { readDuration, readPort } from '../read-values.ts';
import { realFolder, sessionKeyOf, untilStopped } from '../hold-sandbox.ts';
import { runFor } from '../run-of.ts';
import { write } from '../print.ts';
import { NETWORK_OPTIONS, networkOf } from './network.ts';
import { openInBrowser } from './preview.ts';
import { awaitServer, type WantedServer } from '../up/await-server.ts';
import {
  FILES_TO_READ,
  findCommand,
  type FoundCommand,
  installOf,
  LOOKED_FOR,
  type Project,
  SeveralApps,
  workspaceFolders,
} from '../up/find-command.ts';
import { installDependencies } from '../up/install-dependencies.ts';
import { Progress } from '../up/progress.ts';
import { bringEdits } from '../up/bring-edits.ts';
import { FolderEdits, followInBackground } from '../up/folder-edits.ts';

/** Never sent: rebuilt in the sandbox, or useless there. */
const LEFT_OUT = ['node_modules', '.venv', 'venv', '__pycache__/', '.DS_Store'];

export const upCommand: CommandSpec = {
  name: 'up',
  usage: '[folder] [-- command…]',
  summary: 'show a folder as a live preview: send it, start its server, follow your edits',
  details:
    'The command is found in the folder, or given after --. The same folder gets the same sandbox and URL again. Ctrl-C asks what to keep.\nOther commands take the folder as the name of its sandbox: porthole logs ./app',
  options: {
    port: { type: 'string', value: 'PORT', help: 'where the server listens; the command has it as PORT' },
    timeout: {
      type: 'string',
      value: 'TIME',
      help: 'how long the server may take to listen; default 60s, and 5m for Go',
    },
    exclude: { type: 'string', multiple: true, value: 'PATTERN', help: 'leave out more, as in .gitignore' },
    both: { type: 'boolean', help: 'bring edits in the sandbox here, too, where nothing has changed here' },
    ...NETWORK_OPTIONS,
    keep: { type: 'boolean', help: 'at the end, or after a failure, leave everything running' },
    open: { type: 'boolean', help: 'open the preview in your browser' },
  },
  json: 'print an object a line, last ready with preview_url, and return; edits are followed until the sandbox stops',
  examples: [
    ['porthole up', 'this folder'],
    ['porthole up --both', 'this folder, with what an agent edits in the sandbox'],
    ['porthole up ./app --port 4000 -- node server.js', 'a folder with a command'],
  ],
  takesRest: true,
  run: up,
};

async function up(context: Context): Promise<number> {
  const { given, signal } = context;
  const folder = await realFolder(given.positionals[0] ?? '.');
  const found = await commandOf(context, folder);
  const timeoutMs = readDuration('timeout', given.text('timeout') ?? found.timeout ?? '60s') * 1_000;
  const network = networkOf(given);
  const progress = new Progress(context, given.is('json'));
  const isKept = given.is('keep');
  const sandbox = await progress.step(
    'Making a sandbox',
    () => sandboxOfFolder(context, folder, network),
    ({ id }) => `Sandbox ${id}`,
  );
  try {
    signal.throwIfAborted();
    const run = await runFor(context, sandbox.id, `porthole up ${basename(folder)}`.slice(0, 200));
    const isPortGiven = given.text('port') !== undefined;
    if (isPortGiven) await checkPort(run, found.port, signal);
    const excludes = [...LEFT_OUT, ...given.texts('exclude')];
    const send = () => syncFolder(sandbox, folder, { excludes, signal });
    const first = await progress.step('Sending files', send, ({ sent, removed, unchanged }) => {
      return `Sent ${sent} ${sent === 1 ? 'file' : 'files'}, removed ${removed}, ${unchanged} unchanged`;
    });
    for (const { path, reason } of first.skipped) await progress.say(`Left out: ${path}, ${reason}`);
    if (found.install !== undefined)
      await installDependencies(run, folder, found.install, { progress, signal });

    const wanted: WantedServer = { name: 'up', ...found };
    const { server, preview } = await progress.step(
      `Starting ${found.kind}`,
      () => awaitServer(run, wanted, { timeoutMs, signal }),
      ({ server: { port } }) => `Started ${found.kind} on port ${port}`,
    );
    if (isPortGiven && preview.port !== found.port)
      await progress.say(`The server listens on port ${preview.port}, not on ${found.port} of --port.`);
    const facts = { run_id: run.id, sandbox_id: sandbox.id, port: preview.port, server: server.name };
    if (!progress.isJson) await context.print(preview.url);
    if (given.is('open') && !(await openInBrowser(preview.url)))
      await progress.say('No browser could be opened: open the URL yourself.');

    if (progress.isJson) {
      preview.letGo();
      followInBackground(context, folder, sandbox.id, excludes, given.is('both'));
      await progress.event('ready', { preview_url: preview.url, ...facts });
      return 0;
    }
    const following = { excludes, signal, note: (words: string) => progress.say(words) };
    const edits = new FolderEdits(sandbox, folder, following);
    if (given.is('both')) void bringEdits(sandbox, folder, following);
    edits.follow(first.folders);
    try {
      void preview.over.then((ended) => ended && progress.say(`The preview has ended. ${ended.message}`));
      await sandbox.refresh({ signal });
      const stopped = untilStopped(sandbox, signal).then(() => {
        throw new Error('The sandbox was stopped by another command, or in the console.');
      });
      await Promise.race([once(signal, 'abort'), followLog(context, server), stopped]);
    } finally {
      edits.close();
      preview.letGo();
    }
    const what = isKept ? 'run' : await askWhatToKeep(context, progress);
    await endUp(sandbox, what, progress);
    return 0;
  } catch (error) {
    // A failure leaves nothing running.
    await endUp(sandbox, isKept ? 'run' : 'files', progress).catch(() => undefined);
    throw error;
  }
}

/** @throws Error for a port that no preview may show, before anything is sent */
async function checkPort(run: Run, port: number, signal: AbortSignal): Promise<void> {
  const { allowed_port_min: min, allowed_port_max: max } = await run.doctor(port, { signal });
  if (port < min || port > max) throw new Error(`--port must be between ${min} and ${max}, got ${port}.`);
}

/** Copies the output of a server to stderr until the command ends. Rejects if that fails. */
async function followLog({ streams, signal, note }: Context, server: Server): Promise<void> {
  try {
    for await (const event of server.logs({ tail: 20, signal })) {
      if (event.type === 'stdout' || event.type === 'stderr') await write(streams.stderr, event.data);
      else if (event.type === 'exit') {
        const { code, signal: by } = event.exit;
        await note(`The server ended (${code === null ? (by ?? 'no code') : `code ${code}`})`);
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function commandOf({ given }: Context, folder: string): Promise<FoundCommand> {
  const project = await readProject(folder);
  const port = given.text('port') === undefined ? undefined : readPort(given.text('port') ?? '');
  if (given.rest !== undefined) {
    if (given.rest.length === 0)
      throw new UsageError('no command after --: write it there, e.g. porthole up . -- node server.js');
    const command = given.rest.length === 1 ? (given.rest[0] ?? '') : given.rest.map(quote).join(' ');
    return { kind: command, command, port: port ?? 3000, cwd: '', install: installOf(project) };
  }
  const found = commandIn(project, folder, given.positionals[0] ?? '.');
  if (found !== undefined) return { ...found, port: port ?? found.port };
  const list = LOOKED_FOR.map((each) => `  - ${each}`).join('\n');
  throw new UsageError(
    `found no command in ${folder}. Looked for:\n${list}\nGive it one: porthole up ${given.positionals[0] ?? '.'} --port 3000 -- node server.js`,
  );
}

function commandIn(project: Project, folder: string, shown: string): FoundCommand | undefined {
  try {
    return findCommand(project);
  } catch (error) {
    if (!(error instanceof SeveralApps)) throw error;
    const lines = error.commands.map((each) => `  porthole up ${shown} -- ${quote(each)}`).join('\n');
    throw new UsageError(`${folder} has ${error.commands.length} apps. Choose one:\n${lines}`);
  }
}

/**
 * The same folder of the same machine gets the same sandbox, resumed if it is stopped. Ctrl-C does
 * not end the calls: the server makes the sandbox all the same, and it must be stopped then.
 */
async function sandboxOfFolder(
  { porthole }: Context,
  folder: string,
  network: NetworkOptions,
): Promise<Sandbox> {
  const sessionKey = sessionKeyOf(folder);
  const sandbox = await porthole.sandboxes.create({
    sessionKey,
    name: nameOf(folder, sessionKey),
    ...network,
  });
  // The session's existing sandbox keeps its policy when it is returned.
  if (Object.keys(network).length > 0) await sandbox.changeNetwork(network);
  return sandbox;
}

/** The folder's name, with the digest of its path: two folders may have the same name. */
function nameOf(folder: string, sessionKey: string): string {
  const name = basename(folder)
    .replaceAll(/[^\w.-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 48);
  return `${name || 'folder'}-${sessionKey.slice(-32, -26)}`;
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Folders with an index.html to serve. */
const STATIC_FOLDERS = ['public', 'dist', 'build'];

/**
 * Reads what `findCommand` needs from a folder.
 * @throws UsageError if it is not a folder
 */
async function readProject(folder: string): Promise<Project> {
  const names = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${folder} is not a folder that can be read (${error.code ?? error.message}).`);
  });
  const files = new Set(names.filter((each) => !each.isDirectory()).map(({ name }) => name));
  const texts = new Map<string, string>();
  const read = async (path: string): Promise<void> => {
    const text = await readFile(join(folder, path), 'utf8').catch(() => undefined);
    if (text === undefined) return;
    files.add(path);
    texts.set(path, text);
  };
  await Promise.all(FILES_TO_READ.map(read));
  for (const each of STATIC_FOLDERS) {
    const inside = await readdir(join(folder, each)).catch((): string[] => []);
    if (inside.includes('index.html')) files.add(`${each}/index.html`);
  }
  for (const pattern of workspaceFolders(texts)) {
    const parent = pattern.replace(/\/\*$/, '');
    const inside = parent === pattern ? [''] : await readdir(join(folder, parent)).catch((): string[] => []);
    await Promise.all(inside.map((name) => read(posix.join(parent, name, 'package.json'))));
  }
  return { files, texts };
}

/** What remains: everything running, the files of a stopped sandbox, or nothing. */
type Kept = 'run' | 'files' | 'nothing';

const ANSWERS: Readonly<Record<string, Kept>> = { '': 'files', s: 'files', k: 'run', d: 'nothing' };

/**
 * Asks the user; without a terminal, or at a second Ctrl-C, it keeps the files.
 */
async function askWhatToKeep({ streams }: Context, progress: Progress): Promise<Kept> {
  const { stdin, stderr } = streams;
  if (progress.isJson || !stdin.isTTY || !stderr.isTTY) return 'files';
  const asking = createInterface({ input: stdin, output: stderr });
  try {
    const answer = await asking.question('\n[S]top and keep the files, [k]eep it running, or [d]elete it? ');
    return ANSWERS[answer.trim().slice(0, 1).toLowerCase()] ?? 'files';
  } finally {
    asking.close();
  }
}

async function endUp(sandbox: Sandbox, kept: Kept, progress: Progress): Promise<void> {
  if (kept === 'run') {
    await progress.say(`Still running. Stop it: porthole stop ${sandbox.id}`);
  } else if (kept === 'files') {
    await sandbox.stop();
    await progress.say('Stopped. The files stay: porthole up brings it back, at the same URL.');
  } else {
    await sandbox.delete();
    await progress.say('Deleted.');
  }
  await progress.event('ended', { kept });
}
