import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { FRAME, type InitRequest } from './frames.ts';
import type { Operation } from './operation.ts';
import { signalGroup } from './operation.ts';
import { Outlet } from './outlet.ts';
import { whenSilent } from './settle.ts';

type Exec = Extract<InitRequest, { op: 'exec' }>;

/** Runs a command on pipes, in a session and process group of its own. */
export function runCommand(request: Exec, file: string, connection: Socket): Operation {
  const outlet = new Outlet(connection);
  const child = spawn(file, request.argv.slice(1), {
    argv0: request.argv[0],
    cwd: request.cwd,
    env: { ...request.env },
    detached: true,
    stdio: [request.stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'],
  });
  outlet.send(FRAME.ok);
  let running = child.pid !== undefined;

  if (child.stdout !== null) outlet.take(child.stdout, FRAME.stdout);
  if (child.stderr !== null) outlet.take(child.stderr, FRAME.stderr);
  // A command that closes its stdin early is none of our business: what comes for it is acknowledged and dropped.
  child.stdin?.on('error', () => {});

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
        if (child.stdin?.writable) child.stdin.write(payload, acknowledge);
        else acknowledge();
      } else if (type === FRAME.stdinEnd) child.stdin?.end();
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
