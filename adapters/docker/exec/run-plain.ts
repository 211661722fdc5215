import type { Engine } from '../engine/engine.ts';
import { AttachedReader } from './attached-frames.ts';
import { attachExec, exitCode } from './attached-exec.ts';

/** More of its output than this, in bytes, is dropped. */
const MOST = 64 * 1024;

export interface PlainOutcome {
  readonly code: number;
  /** What it said on stderr, for messages. */
  readonly said: string;
}

/**
 * Runs a short command of our own to its end, without input.
 * @throws EngineError where it cannot be started, Error where its end is not told, the signal's reason when it aborts
 */
export async function runPlain(
  engine: Engine,
  containerId: string,
  argv: readonly string[],
  signal: AbortSignal,
): Promise<PlainOutcome> {
  const { execId, socket } = await attachExec(
    engine,
    { containerId, argv, stdin: false, tty: false },
    signal,
  );
  const abort = (): void => void socket.destroy();
  signal.addEventListener('abort', abort, { once: true });
  try {
    const reader = new AttachedReader();
    const said: Buffer[] = [];
    let bytes = 0;
    for await (const piece of socket) {
      for (const part of reader.take(piece as Buffer)) {
        if (part.stream !== 'stderr' || bytes > MOST) continue;
        bytes += part.bytes.length;
        said.push(Buffer.from(part.bytes));
      }
    }
    const code = await exitCode(engine, execId);
    if (code === undefined) throw new Error(`the end of ${argv.join(' ')} is not told`);
    return { code, said: Buffer.concat(said).toString().trim().slice(0, 500) };
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
    socket.destroy();
  }
}
