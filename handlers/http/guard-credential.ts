import { Readable } from 'node:stream';
import type { Caller, SessionRef } from '#core/callers.ts';
import type { MessageSocket } from '#core/terminals/message-socket.ts';
import type { Sessions } from '#core/auth/sign-in.ts';
import {
  type WatchCredentialDeps,
  watchCredential,
  watchSession,
  type WatchedCredential,
} from '#core/auth/watch-credentials.ts';
import type { HttpResponse } from './http-event.ts';

/** RFC 6455: the endpoint ends the connection because what it got violates its policy. */
const POLICY_VIOLATION = 1008;

export interface GuardCredentialDeps extends WatchCredentialDeps {
  readonly authenticator: { readonly sessions?: Pick<Sessions, 'lasts'> | undefined };
}

/**
 * Ends what a delegate, or a person with a browser, has begun once the credential, or the session,
 * is good no longer: a command, a download, a terminal that outlives its request. Everybody else's
 * are left alone: a key that is taken out of the configuration takes the process with it.
 * @param handle is given what is aborted when the client goes away, or the credential ends
 */
export async function guardCredential(
  services: GuardCredentialDeps,
  caller: Caller | undefined,
  signal: AbortSignal | undefined,
  handle: (signal: AbortSignal | undefined) => Promise<HttpResponse>,
): Promise<HttpResponse> {
  if (caller?.kind === 'person' && caller.session !== undefined) {
    return guardSession(services, caller.session, await handle(signal));
  }
  if (caller?.kind !== 'delegate') return handle(signal);
  const watched = watchCredential(services, caller);
  try {
    // Verified before the body arrived; a slow upload can outlive the credential.
    await watched.looked;
    watched.signal.throwIfAborted();
    const response = await handle(
      signal === undefined ? watched.signal : AbortSignal.any([signal, watched.signal]),
    );
    if (response.body instanceof Readable) {
      guardStream(response.body, watched);
      return response;
    }
    watched.close();
    if (response.upgrade !== undefined) {
      // Watched anew: it is not taken over where the client has gone meanwhile.
      response.upgrade = guardSocket(response.upgrade, () => watchCredential(services, caller));
    }
    return response;
  } catch (error) {
    watched.close();
    // Whatever was cut off says so in its own words.
    watched.signal.throwIfAborted();
    throw error;
  }
}

/** Most answers are out at once; only what lasts is worth another look at the session. */
function guardSession(
  { authenticator: { sessions }, clock }: GuardCredentialDeps,
  session: SessionRef,
  response: HttpResponse,
): HttpResponse {
  if (sessions === undefined) return response;
  const watch = () => watchSession({ sessions, clock }, session);
  if (response.body instanceof Readable) guardStream(response.body, watch());
  else if (response.upgrade !== undefined) response.upgrade = guardSocket(response.upgrade, watch);
  return response;
}

function guardStream(body: Readable, watched: WatchedCredential): void {
  const { signal } = watched;
  const end = () => body.destroy(signal.reason instanceof Error ? signal.reason : undefined);
  signal.addEventListener('abort', end, { once: true });
  // An unhandled error would crash the process. A later reader still receives it.
  body.on('error', () => undefined);
  body.once('close', () => watched.close());
  if (signal.aborted) end();
}

function guardSocket(
  upgrade: (socket: MessageSocket) => void,
  watch: () => WatchedCredential,
): (socket: MessageSocket) => void {
  return (socket) => {
    const watched = watch();
    const { signal } = watched;
    const end = () => socket.close(POLICY_VIOLATION, 'the credential is no longer good');
    signal.addEventListener('abort', end, { once: true });
    upgrade({
      ...methodsOf(socket),
      get waiting() {
        return socket.waiting;
      },
      listen: (listeners) =>
        socket.listen({
          message: (message) => {
            // What was under way when it ended is not typed any more.
            if (!signal.aborted) listeners.message(message);
          },
          sent: () => listeners.sent(),
          closed() {
            watched.close();
            listeners.closed();
          },
        }),
    });
  };
}

function methodsOf(socket: MessageSocket): Pick<MessageSocket, 'send' | 'pause' | 'resume' | 'close'> {
  return {
    send: (message) => socket.send(message),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close: (code, reason) => socket.close(code, reason),
  };
}
