import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { Socket } from 'node:net';
import { FRAME, type InitRequest } from './frames.ts';
import type { Operation } from './operation.ts';
import { signalGroup } from './operation.ts';
import { Outlet } from './outlet.ts';
import type { Pipes } from './pipes.ts';
import { whenSilent } from './settle.ts';

type Exec = Extract<InitRequest, { op: 'exec' }>;

/** Runs a command on pipes, in a session and process group of its own. */
export async function runCommand(
  request: Exec,
  file: string,
  connection: Socket,
  pipes: Pipes | undefined,
): Promise<Operation> {
  const outlet = new Outlet(connection);
  const [out, err] = (await pipes?.take(2)) ?? [];
  let child: ChildProcess;
  try {
    child = spawn(file, request.argv.slice(1), {
      argv0: request.argv[0],
      cwd: request.cwd,
      env: { ...request.env },
      detached: true,
      stdio: [request.stdin ? 'pipe' : 'ignore', out?.theirs ?? 'pipe', err?.theirs ?? 'pipe'],
    });
  } catch (error) {
    // Node throws some refusals of the system, and reports others by an event.
    for (const pipe of [out, err]) if (pipe !== undefined) closeSync(pipe.ours);
    throw error;
  } finally {
    for (const pipe of [out, err]) if (pipe !== undefined) closeSync(pipe.theirs);
  }
  const { stdin } = child;
  const stdout = out === undefined ? child.stdout : new Socket({ fd: out.ours, writable: false });
  const stderr = err === undefined ? child.stderr : new Socket({ fd: err.ours, writable: false });
  outlet.send(FRAME.ok);
  let running = child.pid !== undefined;

  if (stdout !== null) outlet.take(stdout, FRAME.stdout);
  if (stderr !== null) outlet.take(stderr, FRAME.stderr);
  // A command that closes its stdin early is none of our business: what comes for it is acknowledged and dropped.
  stdin?.on('error', () => {});

  child.on('error', (error) => {
    if (child.pid !== undefined) return;
    outlet.send(FRAME.stderr, `${request.argv[0]}: ${error.message}\n`);
    outlet.close(FRAME.exit, JSON.stringify({ code: 126 }));
  });
  child.on('exit', (code, signal) => {
    running = false;
    whenSilent(outlet, () =>
      outlet.close(FRAME.exit, JSON.stringify(signal === null ? { code } : { signal })),
    );
  });

  return {
    group: child.pid,
    frame(type, payload) {
      if (type === FRAME.stdin) {
        const acknowledge = (): void => {
          const size = Buffer.alloc(4);
          size.writeUInt32BE(payload.length);
          outlet.send(FRAME.stdinAck, size);
        };
        if (stdin?.writable) stdin.write(payload, acknowledge);
        else acknowledge();
      } else if (type === FRAME.stdinEnd) stdin?.end();
      else if (type === FRAME.signal && running && child.pid !== undefined) {
        signalGroup(child.pid, payload.toString());
      }
    },
    gone() {
      outlet.discard();
      if (running && child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
    },
  };
}
