import { once } from 'node:events';
import { basename } from 'node:path';
import { syncFolder } from '../../node/sync-folder.ts';
import type { Run } from '../../resources/run.ts';
import type { Server } from '../../resources/server.ts';
import type { Sandbox } from '../../resources/sandbox.ts';
import type { NetworkOptions } from '../../resources/sandbox-info.ts';
import { type CommandSpec, type Context, UsageError } from '../command.ts';
import { readDuration } from '../read-values.ts';
import { readEnvFiles, readVariables } from '../read-variables.ts';
import { realFolder, sessionKeyOf, untilStopped } from '../hold-sandbox.ts';
import { runFor } from '../run-of.ts';
import { write } from '../print.ts';
import { NETWORK_OPTIONS, networkOf } from './network.ts';
import { openInBrowser } from './preview.ts';
import { awaitServer, type WantedServer } from '../up/await-server.ts';
import { commandOf } from '../up/command-of.ts';
import { askWhatToKeep, finishUp, type FailedUp, undoUp } from '../up/end-up.ts';
import { withTool } from '../up/package-manager.ts';
import { installDependencies, installTool } from '../up/install-dependencies.ts';
import { Progress } from '../up/progress.ts';
import { bringEdits } from '../up/bring-edits.ts';
import { FolderEdits, followInBackground } from '../up/folder-edits.ts';

/** Never sent: rebuilt in the sandbox, or useless there. */
const LEFT_OUT = ['node_modules', '.venv', 'venv', 'vendor/bundle', '__pycache__/', '.DS_Store'];

export const upCommand: CommandSpec = {
  name: 'up',
  usage: '[folder] [-- command…]',
  summary: 'show a folder as a live preview: send it, start its server, follow your edits',
  details:
    'The command is found in the folder, or given after --. The same folder gets the same sandbox and URL again. Ctrl-C asks what to keep.\nOther commands take the folder as the name of its sandbox: porthole logs ./app',
  options: {
    port: { type: 'string', value: 'PORT', help: 'port of the server; the command gets it as PORT' },
    timeout: {
      type: 'string',
      value: 'TIME',
      help: 'how long the server may take to listen; default 60s, and 5m for Go',
    },
    exclude: { type: 'string', multiple: true, value: 'PATTERN', help: 'leave out more, as in .gitignore' },
    both: { type: 'boolean', help: 'also sync edits in the sandbox back, if unchanged here' },
    install: {
      type: 'boolean',
      help: 'install dependencies even for a command after --',
    },
    'no-install': { type: 'boolean', help: 'install no dependencies' },
    env: {
      type: 'string',
      multiple: true,
      value: 'NAME[=VALUE]',
      help: 'a variable of the server; without a value: copied from this shell',
    },
    'env-from': {
      type: 'string',
      multiple: true,
      value: 'FILE',
      help: 'variables of the server, NAME=VALUE',
    },
    ...NETWORK_OPTIONS,
    keep: { type: 'boolean', help: 'at the end, or after a failure, leave everything running' },
    open: { type: 'boolean', help: 'open the preview in your browser' },
  },
  json: 'print one object per line, last ready with preview_url, and return; edits are followed until the sandbox stops',
  examples: [
    ['porthole up', 'this folder'],
    ['porthole up --both', 'this folder, with what an agent edits in the sandbox'],
    ['porthole up --env-from .env --env API_KEY', 'with variables, one of this shell'],
    ['porthole up ./app --port 4000 -- node server.js', 'a folder with a command'],
  ],
  takesRest: true,
  run: up,
};

async function up(context: Context): Promise<number> {
  const { given, signal } = context;
  const folder = await realFolder(given.positionals[0] ?? '.');
  if (given.is('install') && given.is('no-install'))
    throw new UsageError('--install and --no-install exclude each other: give one.');
  const found = await commandOf(context, folder);
  const timeoutMs = readDuration('timeout', given.text('timeout') ?? found.timeout ?? '60s') * 1_000;
  const variables = {
    ...(await readEnvFiles(given.texts('env-from'))),
    ...readVariables(given.texts('env'), context.streams.environment),
  };
  const env = Object.keys(variables).length === 0 ? undefined : variables;
  const network = networkOf(given);
  const progress = new Progress(context, given.is('json'));
  const isKept = given.is('keep');
  const { sandbox, isNew } = await progress.step(
    'Making a sandbox',
    () => sandboxOfFolder(context, folder, network),
    ({ sandbox: { id } }) => `Sandbox ${id}`,
  );
  let isShown = false;
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
    const { install, tool } = found;
    if (tool !== undefined) await installTool(run, tool, { progress, signal });
    if (install !== undefined) await installDependencies(run, folder, install, { progress, signal, tool });

    const isStale = !isNew && found.needsRestart === true && first.sent + first.removed > 0;
    const command = withTool(found.command, tool);
    const wanted: WantedServer = { name: 'up', ...found, command, env, isStale };
    const { server, preview } = await progress.step(
      `Starting ${found.kind}`,
      (report) => awaitServer(run, wanted, { timeoutMs, signal, report }),
      ({ server: { port } }) => `Started ${found.kind} on port ${port}`,
    );
    isShown = true;
    if (isPortGiven && preview.port !== found.port)
      await progress.say(`The server listens on port ${preview.port}, not on ${found.port} of --port.`);
    const facts = { run_id: run.id, sandbox_id: sandbox.id, port: preview.port, server: server.name };
    if (!progress.isJson) await context.print(preview.url);
    const restarts = found.needsRestart === true ? server.name : undefined;
    if (restarts !== undefined)
      await progress.say(`${found.kind} does not follow edits: it is restarted after each of them.`);
    if (given.is('open') && !(await openInBrowser(preview.url)))
      await progress.say('No browser could be opened: open the URL yourself.');

    if (progress.isJson) {
      preview.letGo();
      followInBackground(context, folder, sandbox.id, { excludes, isBoth: given.is('both'), restarts });
      await progress.event('ready', { preview_url: preview.url, ...facts });
      return 0;
    }
    const following = { excludes, signal, note: (words: string) => progress.say(words) };
    const edits = new FolderEdits(sandbox, folder, { ...following, restarts });
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
    await finishUp(sandbox, what, progress);
    return 0;
  } catch (error) {
    const failed: FailedUp = { isKept, isNew, isShown, isInterrupted: signal.aborted };
    await undoUp(sandbox, failed, progress).catch((problem: Error) =>
      progress.say(`Sandbox ${sandbox.id} is left: ${problem.message}`),
    );
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

/**
 * The same folder of the same machine gets the same sandbox, resumed if it is stopped. Ctrl-C does
 * not end the calls: the server makes the sandbox all the same, and it must be stopped then.
 */
async function sandboxOfFolder(
  { porthole }: Context,
  folder: string,
  network: NetworkOptions,
): Promise<{ readonly sandbox: Sandbox; readonly isNew: boolean }> {
  const sessionKey = sessionKeyOf(folder);
  const { done: isNew = false } = await porthole.sandboxes.list({ sessionKey, pageSize: 1 }).next();
  const sandbox = await porthole.sandboxes.create({
    sessionKey,
    name: nameOf(folder, sessionKey),
    ...network,
  });
  // The session's existing sandbox keeps its policy when it is returned.
  if (Object.keys(network).length > 0) await sandbox.changeNetwork(network);
  return { sandbox, isNew };
}

/** The folder's name, with the digest of its path: two folders may have the same name. */
function nameOf(folder: string, sessionKey: string): string {
  const name = basename(folder)
    .replaceAll(/[^\w.-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 48);
  return `${name || 'folder'}-${sessionKey.slice(-32, -26)}`;
}
