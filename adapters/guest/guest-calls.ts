import { onceOpen } from '#base/concurrency.ts';
import type { GuestCall, GuestCalls, SandboxProvider } from '#core/sandboxes/sandbox-provider.ts';
import { type SpanStart, traced, traceHeaders } from '#core/telemetry/tracing.ts';
import { FILE_AREAS } from '#protocol/guest/http-protocol.ts';

/**
 * Commands, ports and requests in the sandboxes of a provider. The client loads with the first one:
 * many functions call no guest.
 * @param answerWithin in ms; @default ANSWER_WITHIN
 */
export function guestCalls(provider: Pick<SandboxProvider, 'connect'>, answerWithin?: number): GuestCalls {
  const load = onceOpen(() => import('./guest-client.ts'));
  const guest = async (sandboxId: string) => {
    const { GuestClient } = await load();
    return new GuestClient({
      sandboxId,
      connect: (operation, signal) => provider.connect(sandboxId, operation, signal),
      answerWithin,
    });
  };
  return {
    exec: (id, command, signal) =>
      traced(spanOf('guest.exec', id), async () => (await guest(id)).exec(command, signal)),
    dial: async (id, port, signal) => (await guest(id)).dial(port, signal),
    callGuest: (id, call, signal) =>
      traced(spanOf(nameOf(call), id, call.method), async () => {
        const headers = { ...traceHeaders(), ...call.headers };
        return (await guest(id)).call({ ...call, headers }, signal);
      }),
  };
}

const FILES: ReadonlySet<string> = new Set(FILE_AREAS);

/** Without what follows in its path: ids and names of files. */
function nameOf({ path, port }: GuestCall): string {
  if (port !== undefined) return 'sandbox.port';
  const area = /^\/v1\/(?:tmp\/)?(\w+)/.exec(path)?.[1] ?? 'call';
  return FILES.has(area) ? `sandbox.file ${area}` : `guest.${area}`;
}

function spanOf(name: string, sandboxId: string, method?: string): SpanStart<unknown> {
  const attributes = {
    'porthole.sandbox.id': sandboxId,
    ...(method !== undefined && { 'http.request.method': method }),
  };
  return { name, kind: 'client', attributes };
}
