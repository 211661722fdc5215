import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { addressRefusal } from '#base/address-range.ts';
import { endpointOf, hostText, readHost } from '#core/network/network-host.ts';
import type { AttemptOutcome } from '#core/webhooks/attempt-decision.ts';
import type { WebhookSender } from '#core/webhooks/deliver-webhooks.ts';
import { DialError, dialDestination, type DialOptions } from './dial-destination.ts';
import { connectTls, trustedBy } from './intercept-tls.ts';

/** Bytes of an answer's head, and of its body, that are read. */
const MAX_ANSWER_BYTES = 4_096;
/** A connection is opened within this time, in milliseconds. */
const CONNECT_MS = 10_000;
/** An idle connection is closed before most servers close it, in milliseconds. */
const IDLE_MS = 4_000;

export interface WebhookSenderOptions extends Omit<DialOptions, 'permitted'> {
  readonly allow: {
    /** Names that may resolve to private addresses. */
    readonly hosts: readonly string[];
    /** Addresses that receivers may have although they are not public, in CIDR notation. */
    readonly ranges: readonly string[];
  };
  readonly userAgent: string;
}

/**
 * Posts to receivers. SSRF: each address is checked after resolution, when it is connected to, and
 * redirects are not followed. Answers are not kept.
 */
export function webhookSender({ allow, userAgent, ...dial }: WebhookSenderOptions): WebhookSender {
  const permitted = allow.ranges;
  const trusted = trustedBy(undefined);
  const agents = {
    'http:': new HttpAgent({ keepAlive: true, timeout: IDLE_MS }),
    'https:': new HttpsAgent({ keepAlive: true, timeout: IDLE_MS }),
  };

  async function connect(text: string, port: number, isSecure: boolean): Promise<Duplex> {
    const host = readHost(text);
    if (host === undefined) throw new DialError(`${text} is not a host`);
    const signal = AbortSignal.timeout(CONNECT_MS);
    const mayBePrivate = host.kind === 'name' && allow.hosts.includes(host.name);
    const { socket } = await dialDestination({ host, port }, mayBePrivate, { ...dial, permitted }, signal);
    return isSecure ? connectTls(socket, hostText(host), trusted, signal) : socket;
  }

  for (const [protocol, agent] of Object.entries<HttpAgent>(agents)) {
    agent.createConnection = ({ host, port }, created) => {
      connect(host ?? '', Number(port), protocol === 'https:').then(
        (socket) => created?.(null, socket),
        (error: Error) => created?.(error, undefined as unknown as Duplex),
      );
      return undefined;
    };
  }

  return {
    refusal({ protocol, hostname, username, password }) {
      if (!Object.hasOwn(agents, protocol)) return 'must begin with https:// or http://';
      if (username !== '' || password !== '') return 'must not have a user name or a password';
      const host = readHost(hostname);
      if (host === undefined) return `${hostname} is not a host`;
      const refused = host.kind === 'address' && addressRefusal(host.address, permitted, false);
      if (!refused) return undefined;
      return `${hostname} is a ${refused}. An administrator can permit it with PORTHOLE_WEBHOOK_ALLOW`;
    },

    send: ({ url, headers, body }, signal) =>
      new Promise<AttemptOutcome>((resolve) => {
        const target = URL.parse(url);
        if (target === null) return resolve({ error: 'The URL cannot be read' });
        const isSecure = target.protocol === 'https:';
        const { host, port } = endpointOf(target);
        const request = (isSecure ? httpsRequest : httpRequest)({
          method: 'POST',
          host,
          port,
          path: `${target.pathname}${target.search}`,
          agent: agents[isSecure ? 'https:' : 'http:'],
          signal,
          maxHeaderSize: MAX_ANSWER_BYTES,
          headers: {
            'content-type': 'application/cloudevents+json; charset=utf-8',
            'content-length': Buffer.byteLength(body),
            'user-agent': userAgent,
            ...headers,
          },
        });
        request.once('error', (error) => resolve({ error: reasonOf(error) }));
        request.once('response', (answer) => {
          discard(answer);
          resolve({ status: answer.statusCode ?? 0 });
        });
        request.end(body);
      }),

    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/** Reads a short body, so that the connection is used again; a longer one closes it. */
function discard(answer: IncomingMessage): void {
  let left = MAX_ANSWER_BYTES;
  answer.on('error', () => {});
  answer.on('data', ({ length }: Buffer) => {
    left -= length;
    if (left < 0) answer.destroy();
  });
}

function reasonOf(error: NodeJS.ErrnoException): string {
  if (error instanceof DialError) return error.message;
  return `The receiver did not answer (${error.code ?? error.name})`;
}
