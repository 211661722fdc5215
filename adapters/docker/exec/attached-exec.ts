import type { Duplex } from 'node:stream';
import type { Engine } from '../engine/engine.ts';

/** A program that was started in a container, with the stream of what it reads and says. */
export interface AttachedExec {
  readonly execId: string;
  /** Nothing is read of it before somebody listens. Ending it ends the program's input; closing it ends nothing. */
  readonly socket: Duplex;
}

export interface ExecRequest {
  readonly containerId: string;
  readonly argv: readonly string[];
  /** Whether it reads; otherwise it gets no input. */
  readonly stdin: boolean;
  readonly tty: boolean;
}

/**
 * Keys by which a terminal would be let go of: an engine looks for them in what is typed and holds back what may be the first of them. There is no way to have none; so
 * many of one that hardly any terminal has a use for will not be typed.
 */
const DETACH_KEYS = Array.from({ length: 32 }, () => 'ctrl-_').join(',');

/**
 * Starts a program and attaches to it.
 * @throws EngineError, 404 and 409 where the container does not run: nothing was started then
 */
export async function attachExec(
  engine: Engine,
  { containerId, argv, stdin, tty }: ExecRequest,
  signal?: AbortSignal,
): Promise<AttachedExec> {
  const exec = await engine.call(
    'exec',
    (docker, abortSignal) =>
      docker.getContainer(containerId).exec({
        Cmd: [...argv],
        // Which can always be entered.
        WorkingDir: '/',
        AttachStdin: stdin,
        AttachStdout: true,
        AttachStderr: !tty,
        Tty: tty,
        ...(tty && { DetachKeys: DETACH_KEYS }),
        abortSignal,
      }),
    signal,
  );
  // Not told of the signal, which would go on to end the stream when it aborts later.
  let starting: Promise<Duplex> | undefined;
  const start = (): Promise<Duplex> =>
    (starting = exec.start({ hijack: true, stdin: true, Detach: false, Tty: tty }));
  const socket = await engine.call('exec', start, signal).catch((error: unknown) => {
    starting?.then(
      (late) => late.destroy(),
      () => {},
    );
    throw error;
  });
  // Stays for good: without a listener, an error would end the process.
  socket.on('error', () => {});
  return { execId: exec.id, socket };
}
