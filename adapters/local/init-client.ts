import type { Socket } from 'node:net';
import { PortholeError } from '#core/errors.ts';
import { FRAME, FrameReader, frame, type InitRequest, MAX_REQUEST } from './init/frames.ts';
import { connectToInit } from './init-socket.ts';

/** How long an init may take to answer, in ms. It answers within one; a busy machine may need a second to start one. */
export const ANSWER_WITHIN = 10_000;

export function transportError(id: string, what: string, cause?: unknown): PortholeError {
  return new PortholeError(
    'exec_transport_error',
    `Sandbox ${id}: ${what}. Try again; if it stays so, stop and resume the sandbox.`,
    { cause },
  );
}

/** An operation that the init has taken on. */
export interface Accepted {
  readonly socket: Socket;
  readonly reader: FrameReader;
  /** `ok`, or `failed` with its payload. */
  readonly answer: { readonly type: number; readonly payload: Buffer };
  /** What came right behind the answer. */
  readonly rest: Buffer;
}

/**
 * Sends a request and waits for its answer. The socket comes back paused.
 * @throws PortholeError `exec_transport_error` when the init cannot be reached, breaks the rules, or does not answer in time
 */
export async function request(
  id: string,
  folder: string,
  message: InitRequest,
  signal?: AbortSignal,
  answerWithin = ANSWER_WITHIN,
): Promise<Accepted> {
  const text = JSON.stringify(message);
  if (Buffer.byteLength(text) > MAX_REQUEST) {
    throw new PortholeError(
      'invalid_request',
      `The command takes over ${MAX_REQUEST} bytes. Put its input into a file.`,
    );
  }
  const socket = await connectToInit(folder).catch((error: unknown) => {
    throw transportError(id, 'its init does not listen', error);
  });
  const reader = new FrameReader();
  return new Promise<Accepted>((resolve, reject) => {
    const settle = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      socket.off('data', take);
      socket.off('close', lost);
    };
    const fail = (error: unknown): void => {
      settle();
      socket.destroy();
      reject(error);
    };
    const abort = (): void => fail(signal?.reason);
    const lost = (): void => fail(transportError(id, 'its init hung up'));
    const take = (chunk: Buffer): void => {
      try {
        const first = reader.read(chunk).next();
        if (first.done === true) return;
        const answer = first.value;
        if (answer.type !== FRAME.ok && answer.type !== FRAME.failed) throw new Error('no answer');
        settle();
        socket.pause();
        resolve({ socket, reader, answer, rest: chunk.subarray(reader.consumed) });
      } catch (error) {
        fail(transportError(id, 'its init breaks the protocol', error));
      }
    };
    const timer = setTimeout(() => fail(transportError(id, 'its init does not answer')), answerWithin);
    socket.on('error', () => {});
    socket.on('close', lost);
    socket.on('end', () => socket.destroy());
    socket.on('data', take);
    if (signal?.aborted) return abort();
    signal?.addEventListener('abort', abort);
    socket.write(frame(FRAME.request, text));
  });
}
