import { request as httpRequest, type IncomingMessage } from 'node:http';
import { PortholeError } from '#base/errors.ts';
import type { PageBrowser, PageObservation, PageVisit } from '#core/pages/page-browser.ts';
import type { AnswerSchema } from '#core/processes/guest-answers.ts';
import { anySignal } from '#base/concurrency.ts';
import { readAtMost } from '#base/reads.ts';
import type { GuestKeys, GuestTokenClaims } from '#protocol/guest/guest-pod.ts';

export interface RemotePagesOptions {
  /** Origin of the browser servers. */
  readonly url: URL;
  readonly keys: GuestKeys;
  /** Called with the reason when a server fails. */
  readonly failed: (reason: string) => void;
}

/** A server that is down does not answer the handshake. In milliseconds. */
const CONNECT_MS = 5_000;
/** With the time in the server's queue, in milliseconds. */
const ANSWER_MS = 120_000;
const RETRY_SECONDS = 5;

/** A status other than 200. */
class Refused extends Error {
  readonly status: number;
  readonly retryAfterSeconds: number;

  constructor({ statusCode = 0, headers }: IncomingMessage) {
    super(`It answered ${statusCode}`);
    this.status = statusCode;
    const seconds = Number(headers['retry-after']);
    this.retryAfterSeconds = seconds > 0 && seconds <= 60 ? seconds : RETRY_SECONDS;
  }
}

/**
 * Visits pages in browsers beside servers of visits. Their answers are untrusted: hostile pages run
 * there.
 */
export function createRemotePages({ url, keys, failed }: RemotePagesOptions): PageBrowser {
  return {
    isInstalled: () => true,
    async observe(visit, owner, signal) {
      signal?.throwIfAborted();
      try {
        return await sendSigned(url, keys, { visit, owner }, signal);
      } catch (error) {
        signal?.throwIfAborted();
        const status = error instanceof Refused ? error.status : undefined;
        if (error instanceof Refused && status === 429) throw busy(error.retryAfterSeconds);
        failed((error as Error).message);
        throw status === 501 ? missing() : unavailable(error);
      }
    },
    close: () => Promise.resolve(),
  };
}

interface Asked {
  readonly visit: PageVisit;
  readonly owner: string;
}

/** With each key in turn: after a rotation, a server may know only an earlier one. */
async function sendSigned(
  url: URL,
  keys: GuestKeys,
  asked: Asked,
  signal: AbortSignal | undefined,
): Promise<PageObservation> {
  const [last, ...others] = keys.publicKeys.split(',').toReversed() as [string, ...string[]];
  const send = (publicKey: string) => sendOnce(url, asked, signal, (claims) => keys.sign(publicKey, claims));
  for (const publicKey of others.toReversed()) {
    try {
      return await send(publicKey);
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 401) throw error;
    }
  }
  return send(last);
}

async function sendOnce(
  url: URL,
  asked: Asked,
  signal: AbortSignal | undefined,
  sign: (claims: GuestTokenClaims) => string | undefined,
): Promise<PageObservation> {
  // Loaded on demand: its schemas are a tenth of those that a function creates at its start.
  const protocol = await import('./visit-protocol.ts');
  const body = Buffer.from(JSON.stringify(asked));
  const digest = protocol.contentDigest(body);
  const token = sign(protocol.visitClaims(digest));
  const late = AbortSignal.timeout(ANSWER_MS);
  const outgoing = httpRequest(new URL(protocol.VISITS_PATH, url), {
    method: 'POST',
    // A Service assigns connections to pods: a new one for each visit spreads them.
    agent: false,
    signal: anySignal(signal, late),
    headers: {
      authorization: `Bearer ${token}`,
      'content-digest': digest,
      'content-type': 'application/json',
      'content-length': body.length,
    },
  });
  const connecting = setTimeout(
    () => outgoing.destroy(new Error(`No connection within ${CONNECT_MS / 1_000} s`)),
    CONNECT_MS,
  );
  const answered = Promise.withResolvers<IncomingMessage>();
  outgoing.once('response', answered.resolve);
  // More errors may follow the first one, when the connection ends.
  outgoing.on('error', answered.reject);
  outgoing.once('socket', (socket) => socket.once('connect', () => clearTimeout(connecting)));
  outgoing.end(body);
  try {
    const response = await answered.promise;
    if (response.statusCode !== 200) throw new Refused(response);
    return readObservation(
      protocol.ObservationSchema,
      await boundedText(response, protocol.MAX_OBSERVATION_BYTES),
    );
  } finally {
    clearTimeout(connecting);
    outgoing.destroy();
  }
}

/** The reasons of a parser and of a schema would quote the page. */
function readObservation(schema: AnswerSchema<PageObservation>, answer: string): PageObservation {
  try {
    return schema.parse(JSON.parse(answer));
  } catch {
    throw new Error('Its answer is not an observation');
  }
}

async function boundedText(response: IncomingMessage, limit: number): Promise<string> {
  const body = await readAtMost(response, limit);
  if (body === undefined) throw new Error(`Its answer is over ${limit} bytes`);
  return body.toString();
}

function busy(retryAfterSeconds: number): PortholeError {
  return new PortholeError('too_many_looks', 'Too many page checks wait for a browser', {
    remedy: 'try again once they are done.',
    retryAfterSeconds,
  });
}

function missing(): PortholeError {
  return new PortholeError('browser_missing', 'The browser server has no Chromium', {
    remedy: 'ask your administrator to run it from the image of images/browsers.',
  });
}

function unavailable(cause: unknown): PortholeError {
  return new PortholeError('browser_failed', 'No browser server answers', {
    cause,
    remedy: 'try again. If it persists, ask your administrator to look at the Deployment porthole-browsers.',
    retryAfterSeconds: RETRY_SECONDS,
  });
}
