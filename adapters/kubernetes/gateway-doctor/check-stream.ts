import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { askGateway, type GatewayTarget, reasonOf } from './ask-gateway.ts';
import { type Finding, found, lacking } from './finding.ts';

/** Longest wait for an event that the pod has sent, in milliseconds. */
const PROMPT_MS = 5_000;

export interface StreamObservation {
  readonly sse: Finding;
  /**
   * How long the gateway kept a silent answer, and whether that was as long as asked; undefined if
   * no event passed before it.
   */
  readonly silence?: { readonly ms: number; readonly isWhole: boolean };
}

/** One answer: an event at once, a silence, and another event. */
export async function checkStream(
  target: GatewayTarget,
  silentMs: number,
  signal: AbortSignal,
): Promise<StreamObservation> {
  const began = performance.now();
  const end = new AbortController();
  const until = AbortSignal.any([signal, end.signal]);
  const passed = () => performance.now() - began;
  try {
    const first = askGateway(
      target,
      { path: `/events?silent=${silentMs}`, headers: { 'accept-encoding': 'gzip' } },
      until,
    ).then(async (answer) => {
      const events = decoded(answer);
      await once(events, 'data', { signal: until });
      return { events, ms: passed() };
    });
    const { events, ms } = await within(first, Math.min(PROMPT_MS, silentMs));
    const isWhole = await reads(events, 'last', until);
    return {
      sse: found('sse', `an event passed at once (${Math.round(ms)} ms)`),
      silence: { ms: passed(), isWhole },
    };
  } catch (error) {
    signal.throwIfAborted();
    const change = 'turn off buffering and compression of text/event-stream in the gateway';
    return { sse: lacking('sse', `an event did not pass at once (${reasonOf(error)})`, change) };
  } finally {
    end.abort();
  }
}

function decoded(answer: IncomingMessage): Readable {
  if (answer.headers['content-encoding'] !== 'gzip') return answer;
  const plain = createGunzip();
  answer.on('error', (error) => plain.destroy(error));
  return answer.pipe(plain);
}

/** Whether the stream says this before it ends or fails. */
async function reads(stream: Readable, word: string, signal: AbortSignal): Promise<boolean> {
  let text = '';
  stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  try {
    await once(stream, 'end', { signal });
  } catch {
    signal.throwIfAborted();
  }
  return text.includes(word);
}

async function within<T>(result: Promise<T>, ms: number): Promise<T> {
  const limit = AbortSignal.timeout(ms);
  const late = once(limit, 'abort').then(() => Promise.reject(limit.reason as Error));
  return Promise.race([result, late]);
}
