import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { FRAME, type InitRequest } from './frames.ts';
import type { Operation } from './operation.ts';
import { signalGroup } from './operation.ts';
import { Outlet } from './outlet.ts';
import { discard, openPipes } from './pipes.ts';
import { whenSilent } from './settle.ts';

type Exec = Extract<InitRequest, { op: 'exec' }>;

/**
 * Runs a command in a session and process group of its own. Its stdin is a connection of the host's, its output goes into pipes that the host reads: none of its bytes comes by here. Without pipes
 * of the host's, output goes by sockets and comes as frames; `echo oops > /dev/stderr` fails on those.
 * @param input its stdin; undefined for /dev/null
 */
export function runCommand(
  request: Exec,
  file: string,
  connection: Socket,
  input: Socket | undefined,
): Operation {
  const outlet = new Outlet(connection);
  const pipes = openPipes(request.outputs ?? []);
  const [out, err] = pipes;
  let child: ChildProcess;
  try {
    child = spawn(file, request.argv.slice(1), {
      argv0: request.argv[0],
      cwd: request.cwd,
      env: { ...request.env },
      detached: true,
      stdio: [input ?? 'ignore', out?.theirs ?? 'pipe', err?.theirs ?? 'pipe'],
    });
  } catch (error) {
    // Node throws some refusals of the system, and reports others by an event.
    for (const pipe of pipes) closeSync(pipe.ours);
    throw error;
  } finally {
    for (const pipe of pipes) closeSync(pipe.theirs);
    // The command has its own descriptor of it; ours would keep it open for the host, and read what is the command's.
    input?.destroy();
  }
  outlet.send(FRAME.ok);
  let running = child.pid !== undefined;

  if (child.stdout !== null) outlet.take(child.stdout, FRAME.stdout);
  if (child.stderr !== null) outlet.take(child.stderr, FRAME.stderr);

  child.on('error', (error) => {
    if (child.pid !== undefined) return;
    outlet.send(FRAME.stderr, `${request.argv[0]}: ${error.message}\n`);
    outlet.close(FRAME.exit, JSON.stringify({ code: 126 }));
  });
  child.on('exit', (code, signal) => {
    running = false;
    const exit = JSON.stringify(signal === null ? { code } : { signal });
    // What is in the pipes is the host's to read: it hangs up when it has all.
    if (pipes.length > 0) outlet.send(FRAME.exit, exit);
    else whenSilent(outlet, () => outlet.close(FRAME.exit, exit));
  });

  return {
    group: child.pid,
    frame(type, payload) {
      if (type === FRAME.signal && running && child.pid !== undefined) {
        signalGroup(child.pid, payload.toString());
      }
    },
    gone() {
      outlet.discard();
      if (running && child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
      for (const { ours } of pipes) discard(ours);
    },
  };
}
