import { anySignal } from '#base/concurrency.ts';
import { boundedJson, type JsonLimits } from '#base/bounded-json.ts';
import { splitText } from '#base/split-text.ts';
import { type CodeLine, codeLine } from '#protocol/guest/code-protocol.ts';
import { performerOf } from '../callers.ts';
import { guestFailure, turnsOf } from '../processes/guest-answers.ts';
import { type GuestDeps, withCodes } from '../processes/reach-guest.ts';
import type { PortsRef } from '../processes/sandbox-ports.ts';
import type { SandboxEventPublisher } from '../sandboxes/sandbox-event-publisher.ts';
import type { GuestAnswer } from '../sandboxes/sandbox-provider.ts';
import { callCodeServer } from './code-server.ts';

/** Characters of a line: the server leaves out results of over 6 MiB. */
const MAX_LINE = 8 * 1024 * 1024;
/** A table and a chart have at most 512 KiB each. */
const LINE: JsonLimits = { depth: 64, values: 1_000_000 };
/** The server sends a line every 10 seconds, in ms. */
const SILENT_FOR = 60_000;

export interface CodeRequest {
  readonly code: string;
  /** @default the default context of the language */
  readonly contextId?: string | undefined;
  /** @default python */
  readonly language?: string | undefined;
  /** Variables of this run. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** @default no limit */
  readonly timeoutMs?: number | undefined;
}

export interface RunCodeDeps extends GuestDeps {
  readonly publisher: Pick<SandboxEventPublisher, 'publish'>;
}

/** A line, and its text: JavaScript has no numbers like 1.0. */
export interface ReadLine {
  readonly line: CodeLine;
  readonly text: string;
}

/**
 * Runs code in a context of a sandbox. A caller that goes away, and the time limit, interrupt it.
 * @returns its lines, without the last one
 * @throws PortholeError `context_not_found`, `too_many_processes`, and as `callCodeServer` does
 */
export async function runCode(
  deps: RunCodeDeps,
  ref: PortsRef,
  { code, contextId, language, env, timeoutMs }: CodeRequest,
): Promise<AsyncGenerator<ReadLine, void, undefined>> {
  const startedAt = performance.now();
  const limit = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  const body = { code, context_id: contextId, language, env_vars: env };
  const asked = callCodeServer(
    deps,
    { ...ref, signal: anySignal(ref.signal, limit) },
    { method: 'POST', path: '/execute', body },
  );
  const answer = await withCodes(asked, { not_found: 'context_not_found' }).catch((error: unknown) => {
    if (limit?.aborted !== true || ref.signal?.aborted === true) throw error;
    return undefined;
  });
  async function* lines(): AsyncGenerator<ReadLine, void, undefined> {
    let failed = false;
    try {
      if (answer === undefined) throw limit?.reason;
      for await (const read of linesOf(answer, ref.sandboxId)) {
        failed ||= read.line.type === 'error';
        yield read;
      }
    } catch (error) {
      ref.signal?.throwIfAborted();
      if (limit?.aborted !== true) throw error;
      failed = true;
      const value = `The code ran for ${timeoutMs} ms, its time limit, and was interrupted`;
      const line = { type: 'error', name: 'TimeoutError', value, traceback: '' } as const;
      yield { line, text: JSON.stringify(line) };
    } finally {
      answer?.destroy();
      deps.publisher.publish(ref.sandboxId, 'exec', {
        command: code,
        exit_code: failed ? 1 : 0,
        duration_ms: Math.round(performance.now() - startedAt),
        ...performerOf(ref.caller),
      });
    }
  }
  return lines();
}

async function* linesOf(answer: GuestAnswer, sandboxId: string): AsyncGenerator<ReadLine, void, undefined> {
  const pause = turnsOf(sandboxId);
  const expectLine = () => setTimeout(() => answer.destroy(new Error('silent')), SILENT_FOR);
  let silent = expectLine();
  try {
    for await (const text of splitText(answer as AsyncIterable<Buffer>, '\n', MAX_LINE)) {
      clearTimeout(silent);
      const turn = pause();
      if (turn !== undefined) await turn;
      const line = codeLine.parse(boundedJson(text, LINE));
      if (line.type === 'end_of_execution') return;
      yield { line, text };
      silent = expectLine();
    }
    throw new Error('the answer has no end');
  } catch (error) {
    throw guestFailure(sandboxId, 'the connection to its code interpreter was lost', error);
  } finally {
    clearTimeout(silent);
  }
}
