import { once } from 'node:events';
import { json } from 'node:stream/consumers';
import { askGateway, type GatewayRequest, type GatewayTarget, reasonOf } from './ask-gateway.ts';
import type { ControllerFacts } from './controllers.ts';
import { type Finding, found, lacking } from './finding.ts';

const BODY_BYTES = 2 ** 30;
/** The pod answers once it has this much: a gateway that passes it on does not hold the rest. */
export const ENOUGH_BYTES = 8 * 2 ** 20;
const CHUNK = Buffer.alloc(2 ** 18);
const PATIENCE_MS = 30_000;
const CHANGE = 'allow requests of 1 GiB in the gateway, and in load balancers in front of it';

/**
 * A request that announces 1 GiB. It ends at the first answer: the gateway's refusal, or the pod's
 * after 8 MiB. Only a gateway that buffers requests receives all of it.
 */
export async function checkBody(
  target: GatewayTarget,
  { body: change = CHANGE, slowBody }: ControllerFacts,
  signal: AbortSignal,
): Promise<Finding> {
  const end = new AbortController();
  const until = AbortSignal.any([signal, end.signal, AbortSignal.timeout(PATIENCE_MS)]);
  const sent = { bytes: 0 };
  try {
    const answer = await askGateway(
      target,
      {
        path: '/body',
        method: 'POST',
        headers: { 'content-length': BODY_BYTES },
        send: (outgoing) => void sendChunks(outgoing, sent, until),
      },
      until,
    );
    if (answer.statusCode !== 200 || answer.headers['x-porthole-probe'] === undefined) {
      return lacking('body', `1 GiB is refused with ${answer.statusCode} after ${mib(sent.bytes)}`, change);
    }
    const { received } = (await json(answer)) as { received: number };
    if (received < ENOUGH_BYTES) return lacking('body', `only ${mib(received)} of 1 GiB arrived`, change);
    const passed =
      sent.bytes === BODY_BYTES
        ? 'all of 1 GiB is accepted, and buffered before it passes'
        : `1 GiB is announced and accepted, ${mib(received)} passed at once`;
    return found('body', slowBody === undefined ? passed : `${passed}. ${slowBody}`);
  } catch (error) {
    signal.throwIfAborted();
    return lacking('body', `1 GiB does not pass: ${reasonOf(error)} after ${mib(sent.bytes)}`, change);
  } finally {
    end.abort();
  }
}

/** Ends at the first answer or failure, which the request itself reports. */
async function sendChunks(
  outgoing: Parameters<NonNullable<GatewayRequest['send']>>[0],
  sent: { bytes: number },
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  for (const event of ['response', 'error', 'close']) outgoing.once(event, () => over.abort());
  const until = AbortSignal.any([signal, over.signal]);
  while (!until.aborted && sent.bytes < BODY_BYTES) {
    sent.bytes += CHUNK.length;
    if (!outgoing.write(CHUNK)) await once(outgoing, 'drain', { signal: until }).catch(() => undefined);
  }
  if (!until.aborted) outgoing.end();
}

function mib(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}
