import type { Caller } from '#core/callers.ts';

/** Identifies a client's call: caller, conversation, JSON-RPC id. */
export interface CallName {
  readonly caller: Caller;
  /** `Mcp-Session-Id`, which clients repeat from their `initialize`. */
  readonly sessionId: string | undefined;
  readonly requestId: unknown;
}

const running = new Map<string, Set<AbortController>>();

/**
 * The running tool calls of this process, so that `notifications/cancelled`, a separate request,
 * can end the named one. The key includes the conversation, because clients with one key use the
 * same request ids. If two calls have the same key, neither is cancelled.
 */
export function beginCall(name: CallName): { readonly signal: AbortSignal; end(): void } {
  const key = keyOf(name);
  const controller = new AbortController();
  const calls = running.get(key) ?? new Set();
  running.set(key, calls.add(controller));
  return {
    signal: controller.signal,
    end() {
      calls.delete(controller);
      if (calls.size === 0 && running.get(key) === calls) running.delete(key);
    },
  };
}

export function cancelCall(name: CallName): void {
  const [call, other] = running.get(keyOf(name)) ?? [];
  if (other === undefined) call?.abort();
}

function keyOf({ caller, sessionId = '', requestId }: CallName): string {
  const who =
    caller.kind === 'person'
      ? [caller.org, caller.user]
      : caller.kind === 'agent'
        ? [caller.runId]
        : [caller.sandboxId, caller.delegationId];
  return JSON.stringify([caller.kind, ...who, sessionId, requestId]);
}
