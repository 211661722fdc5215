import { useEffect, useEffectEvent, useMemo, useRef, useState } from 'react';
import { ApiError, call } from '../api/client.ts';
import { serverNow } from '../live/clock.ts';
import { problemOf } from '../live/use-live.ts';
import type { Draft } from './working-copies.ts';

/**
 * A lock lasts ten minutes from its last renewal; this is the renewal interval while the user
 * edits.
 */
const RENEW_MS = 120_000;
const POLL_MS = 10_000;
/** Number and interval of polls while a closed page may still release its lock. */
const SETTLE = { times: 4, everyMs: 400 } as const;

/** The holder of a lock, and its expiry in milliseconds. */
interface LockHolder {
  readonly holder: string;
  readonly expiresAt: number;
}

type LockState =
  | { readonly kind: 'asking' }
  | { readonly kind: 'held'; readonly token: string; readonly expiresAt: number }
  /** Not held here. `by`: the holder, if any. `had`: this page held it before. */
  | { readonly kind: 'none'; readonly by: LockHolder | undefined; readonly had: boolean }
  | { readonly kind: 'failed'; readonly why: string };

interface LockRenewalOptions {
  readonly toolId: string;
  readonly user: string;
  readonly onState: (state: LockState) => void;
  /** Called with the draft's revision. */
  readonly onRevision: (revision: number) => void;
}

export type DraftLock = ReturnType<typeof useDraftLock>;

/** The draft's lock while the tool's page is mounted. */
export function useDraftLock(toolId: string, user: string, onRevision: (revision: number) => void) {
  const [state, setState] = useState<LockState>({ kind: 'asking' });
  const renewal = useRef<ReturnType<typeof keepLock>>(undefined);
  const read = useEffectEvent(onRevision);
  useEffect(() => {
    const own = keepLock({ toolId, user, onState: setState, onRevision: (revision) => read(revision) });
    renewal.current = own;
    return () => own.stop();
  }, [toolId, user]);
  const ways = useMemo(
    () => ({
      take: async () => renewal.current?.take(),
      use: async <T>(work: (token: string) => Promise<T>) => renewal.current?.use(work),
      touch: () => renewal.current?.touch(),
    }),
    [],
  );
  return { state, ...ways };
}

/**
 * Lock tokens, held only by this page, by person and tool: they survive a sign-in, which unmounts
 * the tool.
 */
const tokens = new Map<string, string>();

/**
 * Holds a draft's lock: takes it if free, renews it while the page is visible and edited, releases
 * it at the end, and never takes it over unasked.
 */
function keepLock({ toolId, user, onState, onRevision }: LockRenewalOptions) {
  const path = { tool_id: toolId };
  const key = JSON.stringify([user, toolId]);
  let state: LockState = { kind: 'asking' };
  let ended = false;
  let had = false;
  let touchedAt = Date.now();
  let renewedAt = 0;
  let taking = false;

  const heldToken = () => (state.kind === 'held' ? state.token : undefined);
  const isHeld = () => heldToken() !== undefined;
  const isNobodys = () => state.kind === 'none' && state.had && state.by === undefined;
  const announce = (next: LockState) => {
    if (ended) return;
    state = next;
    if (next.kind === 'held') had = true;
    onState(next);
  };
  const hold = (token: string, expiresAt: string) => {
    tokens.set(key, token);
    renewedAt = Date.now();
    announce({ kind: 'held', token, expiresAt: Date.parse(expiresAt) });
  };
  const none = (by: LockHolder | undefined) => {
    tokens.delete(key);
    announce({ kind: 'none', by, had });
  };
  const failed = (error: unknown) => {
    if (error instanceof ApiError && error.status === 423) none(holderOf(error));
    else if (!(error instanceof ApiError && error.status === 401) && state.kind !== 'held') {
      announce({ kind: 'failed', why: problemOf(error) });
    }
  };
  const post = async (takeOver: boolean) => {
    taking = true;
    try {
      const route = 'POST /api/v1/editor/tools/{tool_id}/draft/lock';
      const taken = await call(route, { path, body: { take_over: takeOver } });
      if (ended) release(key, toolId, taken.lock_token);
      else hold(taken.lock_token, taken.expires_at);
    } catch (error) {
      failed(error);
    } finally {
      taking = false;
    }
  };
  const renew = async (token: string) => {
    renewedAt = Date.now();
    try {
      const route = 'PUT /api/v1/editor/tools/{tool_id}/draft/lock';
      const { expires_at: at } = await call(route, { path, headers: { 'draft-lock-token': token } });
      hold(token, at);
    } catch (error) {
      failed(error);
    }
  };
  const look = async (): Promise<Draft['lock'] | undefined> => {
    try {
      const { lock, revision } = await call('GET /api/v1/editor/tools/{tool_id}/draft', { path });
      if (!ended) onRevision(revision);
      return lock;
    } catch (error) {
      failed(error);
      return undefined;
    }
  };
  const start = async () => {
    const kept = tokens.get(key);
    if (kept !== undefined) {
      await renew(kept);
      if (isHeld()) return;
    }
    for (let time = 0; time < SETTLE.times; time += 1) {
      const lock = await look();
      if (lock === undefined || ended) return;
      if (lock === null) return post(false);
      if (lock.holder !== user || time === SETTLE.times - 1) return none(toHolder(lock));
      await new Promise((resolve) => setTimeout(resolve, SETTLE.everyMs));
    }
  };
  const tick = async () => {
    if (document.visibilityState !== 'visible' || state.kind === 'asking') return;
    if (state.kind !== 'held') {
      const lock = await look();
      if (lock === undefined || ended) return;
      if (state.kind === 'failed' && lock === null) await post(false);
      else if (!isHeld()) none(lock === null ? undefined : toHolder(lock));
    } else if (state.expiresAt <= serverNow()) none(undefined);
    else if (Date.now() - renewedAt >= RENEW_MS && touchedAt > renewedAt) await renew(state.token);
  };
  const leave = () => {
    const token = tokens.get(key);
    if (token !== undefined) release(key, toolId, token);
  };
  const comeBack = ({ persisted }: PageTransitionEvent) => {
    if (persisted) void start();
  };

  void start();
  const timer = setInterval(() => void tick(), POLL_MS);
  addEventListener('pagehide', leave);
  addEventListener('pageshow', comeBack);
  return {
    /** Takes the lock, from another window of the same user, or, for an admin, from any user. */
    take: () => post(true),
    /**
     * Runs `work` under the lock, which is taken again if it expired and is free. Undefined if
     * another user holds it.
     * @throws errors of `work`
     */
    async use<T>(work: (token: string) => Promise<T>): Promise<T | undefined> {
      touchedAt = Date.now();
      const isOver = state.kind === 'held' ? state.expiresAt <= serverNow() : isNobodys();
      if (isOver) await post(false);
      const token = heldToken();
      if (token === undefined) return undefined;
      try {
        return await work(token);
      } catch (error) {
        if (!(error instanceof ApiError && error.status === 423)) throw error;
        failed(error);
        // The server's clock may be ahead.
        if (isNobodys()) await post(false);
        const other = heldToken();
        if (other === undefined || other === token) throw error;
        return work(other);
      }
    },
    /** The user edits. */
    touch() {
      touchedAt = Date.now();
      if (isNobodys() && !taking) void post(false);
    },
    stop() {
      leave();
      ended = true;
      clearInterval(timer);
      removeEventListener('pagehide', leave);
      removeEventListener('pageshow', comeBack);
    },
  };
}

/**
 * Continues after the page is closed. A token that could not be released without a session is
 * released after the next sign-in.
 */
function release(key: string, toolId: string, token: string): void {
  if (tokens.get(key) === token) tokens.delete(key);
  call('DELETE /api/v1/editor/tools/{tool_id}/draft/lock', {
    path: { tool_id: toolId },
    headers: { 'draft-lock-token': token },
    keepalive: true,
  }).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 401 && !tokens.has(key)) tokens.set(key, token);
  });
}

function toHolder({ holder, expires_at: at }: NonNullable<Draft['lock']>): LockHolder {
  return { holder, expiresAt: Date.parse(at) };
}

function holderOf({ details }: ApiError): LockHolder | undefined {
  const { holder, expires_at: at } = details;
  return typeof holder === 'string' && typeof at === 'string'
    ? { holder, expiresAt: Date.parse(at) }
    : undefined;
}
