/**
 * The init of a sandbox: the first process of ours inside it. It listens on the socket that the host opened (descriptor 3) and runs
 * one operation a connection. Started as `node main.js <InitSettings as JSON>`; its files import nothing but Node.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { closeInherited } from './close-inherited.ts';
import { findProgram } from './find-program.ts';
import { FRAME, FrameReader, frame, type InitRequest } from './frames.ts';
import { Inputs } from './inputs.ts';
import type { Operation } from './operation.ts';
import { Groups } from './operation.ts';
import { relayPort } from './relay-port.ts';
import { openFolder } from './open-folder.ts';
import { runCommand } from './run-command.ts';

/** What the host tells an init about its place. */
export interface InitSettings {
  /** The environment of every command; a request adds to it. */
  readonly env: Readonly<Record<string, string>>;
  /** The folder that `/workspace` stands for where there is no file system of our own. */
  readonly workspace?: string;
  /** The folder of node-pty's native part; without it there are no terminals. */
  readonly pty?: string;
}

// Agents restart their servers with `pkill -f node`, which matches whole command lines: ours would end with them.
process.title = 'porthole-init';

type Exec = Extract<InitRequest, { op: 'exec' }>;

const LISTENER = 3;
const settings = JSON.parse(process.argv[2] as string) as InitSettings;
const groups = new Groups();
const inputs = new Inputs();

function place(path: string): string {
  const folder = settings.workspace;
  if (folder === undefined) return path;
  return path === '/workspace' || path.startsWith('/workspace/') ? folder + path.slice(10) : path;
}

/** What a shell would say of a program that cannot be started. */
function refuse(connection: Socket, code: number, reason: string): void {
  connection.write(frame(FRAME.ok));
  connection.write(frame(FRAME.stderr, `${reason}\n`));
  connection.end(frame(FRAME.exit, JSON.stringify({ code })));
}

const OOM_SCORE = '/proc/self/oom_score_adj';

/**
 * Starts a command that is killed before this init where memory runs out: with the init everything
 * ends. A child inherits the value at
 * its birth; a later write would miss its first children.
 */
function expendable<T>(start: () => T): T {
  const score = (value?: string): string => {
    try {
      if (value !== undefined) writeFileSync(OOM_SCORE, value);
      return readFileSync(OOM_SCORE, 'latin1').trim();
    } catch {
      // There is no /proc, or the value is below what this user may set.
      return '1000';
    }
  };
  const own = score();
  if (Number(own) >= 800) return start();
  score('800');
  try {
    return start();
  } finally {
    score(own);
  }
}

async function execute(request: Exec, connection: Socket): Promise<Operation | undefined> {
  const input = request.input === undefined ? undefined : inputs.take(request.input);
  const env = { ...settings.env, ...request.env };
  openFolder(place('/workspace'));
  const located = { ...request, env, cwd: place(request.cwd) };
  const found =
    request.tty !== null && settings.pty === undefined
      ? { code: 126, reason: 'no terminals: node-pty is not installed for this platform' }
      : findProgram(request.argv[0], env['PATH'] ?? '', located.cwd);
  if ('reason' in found) {
    input?.destroy();
    refuse(connection, found.code, found.reason);
    return undefined;
  }
  let operation: Operation;
  if (request.tty === null) operation = expendable(() => runCommand(located, found.file, connection, input));
  else {
    const { runTerminal } = await import('./run-terminal.ts');
    operation = expendable(() => runTerminal(located, found.file, connection, settings.pty));
  }
  if (settings.workspace !== undefined && operation.group !== undefined) groups.add(operation.group);
  return operation;
}

function serve(connection: Socket): void {
  const reader = new FrameReader();
  let operation: Promise<Operation | undefined> | undefined;
  const begin = (payload: Buffer): void => {
    const request = JSON.parse(payload.toString()) as InitRequest;
    if (request.op === 'ping') connection.end(frame(FRAME.ok));
    else if (request.op === 'exec') {
      connection.on('end', () => connection.destroy());
      operation = execute(request, connection);
      operation.catch((error: Error) => refuse(connection, 126, `${request.argv[0]}: ${error.message}`));
    } else {
      connection.off('data', take);
      if (request.op === 'input') inputs.offer(request.ticket, connection);
      else relayPort(request.port, connection);
    }
  };
  let started = false;
  const take = (chunk: Buffer): void => {
    for (const { type, payload } of reader.read(chunk)) {
      if (started) void operation?.then((one) => one?.frame(type, payload));
      else begin(payload);
      started = true;
    }
  };
  connection.on('data', take);
  connection.on('error', () => {});
  connection.on('close', () => {
    void operation?.then((one) => one?.gone()).catch(() => {});
  });
}

// One command that goes wrong in a way nobody foresaw must not end all the others, and the servers they left behind.
process.on('uncaughtException', () => {});
process.on('SIGHUP', () => {});
process.on('SIGTERM', () => {
  groups.end();
  process.exit(0);
});

closeInherited(LISTENER);
createServer({ allowHalfOpen: true }, serve).listen({ fd: LISTENER });
