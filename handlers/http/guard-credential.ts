import { Readable } from 'node:stream';
import type { Agent, Caller, Delegate, Person } from '#core/callers.ts';
import { type MessageSocket, withListeners } from '#core/terminals/message-socket.ts';
import type { Sessions } from '#core/auth/sign-in.ts';
import {
  isColleague,
  watchAgent,
  watchApiKey,
  type WatchCredentialDeps,
  watchCredential,
  watchSession,
  watchSharing,
  type WatchedCredential,
} from '#core/auth/watch-credentials.ts';
import { anySignal } from '#base/concurrency.ts';
import type { HttpResponse } from './http-event.ts';

/** RFC 6455: the endpoint closes because a received message violates its policy. */
const POLICY_VIOLATION = 1008;

export interface GuardCredentialDeps extends WatchCredentialDeps {
  readonly authenticator: { readonly sessions?: Pick<Sessions, 'lasts'> | undefined };
}

/**
 * Ends requests that outlive their credential: commands, downloads and terminals of delegates, of
 * agents, and of people with a session, with a key that they made, or in a shared run, once the
 * delegation, token, session or key becomes invalid, or the run is no longer shared. Other callers
 * are not watched: removing a key from the configuration restarts the process.
 * @param signal aborts when the client disconnects
 * @param handle receives a signal that aborts then, or when the credential becomes invalid
 */
export function guardCredential(
  services: GuardCredentialDeps,
  caller: Caller | undefined,
  signal: LazySignal,
  handle: (signal: LazySignal) => Promise<HttpResponse>,
): Promise<HttpResponse> {
  if (caller?.kind === 'delegate') return guardDelegate(services, caller, signal(), handle);
  if (caller === undefined) return handle(signal);
  const { session, via, key } = caller.kind === 'person' ? caller : {};
  const mayEnd = caller.kind === 'agent' || [session, via, key].some((each) => each !== undefined);
  if (!mayEnd) return handle(signal);
  return guardLater(services, caller, signal, handle);
}

/** Checks the credential again while a response lasts. Most responses end at once. */
async function guardLater(
  services: GuardCredentialDeps,
  caller: Agent | Person,
  signal: LazySignal,
  handle: (signal: LazySignal) => Promise<HttpResponse>,
): Promise<HttpResponse> {
  let lapsed: AbortController | undefined;
  const response = await handle(() => {
    lapsed ??= new AbortController();
    return anySignal(signal(), lapsed.signal);
  });
  const guard = (watch: () => WatchedCredential): void => {
    if (response.upgrade !== undefined) response.upgrade = guardSocket(response.upgrade, watch);
    if (!(response.body instanceof Readable)) return;
    const watched = watch();
    guardStream(response.body, watched);
    // `return()` of a generator waits for its next event: its signal wakes it.
    watched.signal.addEventListener('abort', () => lapsed?.abort(watched.signal.reason), { once: true });
  };
  if (caller.kind === 'agent') {
    guard(() => watchAgent(services, caller));
    return response;
  }
  const { session, via, key } = caller;
  const { sessions } = services.authenticator;
  const lasts = response.body instanceof Readable || response.upgrade !== undefined;
  if (via !== undefined && lasts) {
    // It may fail while the records answer: an unhandled error would crash the process.
    const body = response.body instanceof Readable ? response.body.on('error', () => undefined) : undefined;
    const mayLose = await isColleague(services, { ...caller, via }).catch((error: unknown) => {
      body?.destroy();
      throw error;
    });
    if (mayLose) guard(() => watchSharing(services, { ...caller, via }));
  }
  if (key !== undefined) guard(() => watchApiKey(services, key));
  if (session !== undefined && sessions !== undefined) {
    guard(() => watchSession({ sessions, clock: services.clock }, session));
  }
  return response;
}

/** Most functions never read the signal, so it is created when it is first read. */
export type LazySignal = () => AbortSignal | undefined;

async function guardDelegate(
  services: GuardCredentialDeps,
  caller: Delegate,
  signal: AbortSignal | undefined,
  handle: (signal: LazySignal) => Promise<HttpResponse>,
): Promise<HttpResponse> {
  const watched = watchCredential(services, caller);
  try {
    // Verified before the body arrived; a slow upload can outlive the credential.
    await watched.firstCheck;
    watched.signal.throwIfAborted();
    const either = anySignal(signal, watched.signal);
    const response = await handle(() => either);
    if (response.body instanceof Readable) {
      guardStream(response.body, watched);
      return response;
    }
    watched.close();
    if (response.upgrade !== undefined) {
      // A new watch: the socket is not taken over if the client has disconnected.
      response.upgrade = guardSocket(response.upgrade, () => watchCredential(services, caller));
    }
    return response;
  } catch (error) {
    watched.close();
    // An aborted operation reports its own reason.
    watched.signal.throwIfAborted();
    throw error;
  }
}

function guardStream(body: Readable, watched: WatchedCredential): void {
  const { signal } = watched;
  const end = () => body.destroy(signal.reason instanceof Error ? signal.reason : undefined);
  signal.addEventListener('abort', end, { once: true });
  // An unhandled error would crash the process. A later reader still receives it.
  body.on('error', () => undefined);
  if (body.closed) watched.close();
  else body.once('close', () => watched.close());
  if (signal.aborted) end();
}

function guardSocket(
  upgrade: (socket: MessageSocket) => void,
  watch: () => WatchedCredential,
): (socket: MessageSocket) => void {
  return (socket) => {
    const watched = watch();
    const { signal } = watched;
    const end = () => socket.close(POLICY_VIOLATION, 'the credential is no longer valid');
    signal.addEventListener('abort', end, { once: true });
    upgrade(
      withListeners(socket, (listeners) => ({
        message: (message) => {
          // Input in transit at that moment is dropped.
          if (!signal.aborted) listeners.message(message);
        },
        closed() {
          watched.close();
          listeners.closed();
        },
      })),
    );
  };
}
