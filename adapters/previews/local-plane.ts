import { randomUUID } from 'node:crypto';
import type { Clock } from '#base/clock-and-ids.ts';
import type { Preview, PreviewPlane, PreviewSpec, Readiness } from '#core/previews/preview-plane.ts';
import type { Sandboxes } from '#core/sandboxes/sandbox-provider.ts';
import { isAmongFirst, tooManyPreviews } from '#core/previews/preview-limits.ts';
import type { SandboxPort } from '#core/previews/port-host.ts';
import { clampExpiry } from '#core/previews/preview-lifetime.ts';
import { isOutdated } from '#proxy/access/access-gate.ts';
import { previewHost, previewName } from '#core/previews/preview-token.ts';
import {
  creationTimes,
  isCurrent,
  openPreviewFiles,
  probeApp,
  selected,
  type StoredPreview,
} from './preview-files.ts';

export interface LocalPlaneOptions {
  /** Folder of the preview files; created if missing. */
  readonly folder: string;
  readonly zone: string;
  /** Limit of all live previews together. */
  readonly maxTotal: number;
  readonly clock: Clock;
  readonly sandboxes: Pick<Sandboxes, 'dial'>;
  /**
   * Public address of the gateway, e.g. `{ scheme: 'http', port: 8787 }`. Read at each use, because
   * the port is known late.
   */
  readonly address: () => { readonly scheme: 'http' | 'https'; readonly port: number };
}

/**
 * The previews of one machine. The gateway routes by them, and they survive a restart of the host.
 */
export interface LocalPlane extends PreviewPlane {
  /**
   * The serving preview of a token, without a round trip: the gateway calls it for every request.
   */
  lookup(token: string): Preview | undefined;
  /** The serving preview with a name, likewise. */
  lookupNamed(name: string): Preview | undefined;
  /** The serving preview of a port of a run's sandbox, without a round trip. */
  lookupPort(at: Pick<Preview, 'runId' | 'sandboxId' | 'targetPort'>): Preview | undefined;
  /** The serving preview of a port of a sandbox, likewise. */
  lookupSandboxPort(at: SandboxPort): (Preview & { readonly generation: number }) | undefined;
  /** Calls the listener for every preview that ends, so that its open connections can be cut. */
  onClosed(listener: (preview: Preview) => void): void;
  /** Calls the listener for every preview when its access changes. */
  onLimited(listener: (preview: Preview) => void): void;
}

/**
 * A PreviewPlane in memory, backed by one small file per preview. Single-threaded, and every change
 * is one rename: each call is atomic, and a crash leaves a preview in its old or its new state.
 *
 * A preview from `open` counts and is listed, but it is only in memory, serves nothing and cannot
 * be kept alive until `awaitReady` confirms it. So a start that loses against a stop never restores
 * the stopped URL, and a crash during a start leaves nothing.
 */
export async function openLocalPlane(options: LocalPlaneOptions): Promise<LocalPlane> {
  const { zone, maxTotal, clock, sandboxes, address } = options;
  const files = await openPreviewFiles(options.folder);
  const live = new Map(files.all().map((stored) => [stored.name, stored]));
  /** Names of the previews that no start has confirmed yet. */
  const unconfirmed = new Set<string>();
  const listeners: ((preview: Preview) => void)[] = [];
  const limitListeners: ((preview: Preview) => void)[] = [];
  const nextCreation = creationTimes(
    clock,
    [...live.values()].map(({ createdAt }) => createdAt),
  );

  const urlOf = (host: string): string => {
    const { scheme, port } = address();
    const isDefault = port === (scheme === 'https' ? 443 : 80);
    return `${scheme}://${host}${isDefault ? '' : `:${port}`}`;
  };
  const withUrl = (stored: StoredPreview): Preview => ({
    ...stored,
    url: urlOf(previewHost(stored.token, zone)),
  });
  /** Every write increments the version, so that preconditions on an older one fail. */
  const write = (stored: StoredPreview) => {
    const next = { ...stored, version: String(Number(stored.version) + 1) };
    files.put(next);
    live.set(next.name, next);
    unconfirmed.delete(next.name);
    return next;
  };
  const byToken = (token: string) => {
    const stored = live.get(previewName(token));
    return stored?.token === token ? stored : undefined;
  };
  const serving = (token: string) => {
    const stored = byToken(token);
    return stored !== undefined && !unconfirmed.has(stored.name) ? stored : undefined;
  };
  const lookupSandboxPort: LocalPlane['lookupSandboxPort'] = ({ sandboxId, targetPort }) => {
    for (const stored of live.values()) {
      const { generation } = stored;
      const isSame = stored.sandboxId === sandboxId && stored.targetPort === targetPort;
      if (generation !== undefined && isSame && !unconfirmed.has(stored.name)) {
        return { ...withUrl(stored), generation };
      }
    }
    return undefined;
  };

  return {
    hasUrls: true,
    needsOpenAddress: false,
    seesTraffic: true,
    lastUsed: () => Promise.resolve(undefined),

    lookup: (token) => {
      const stored = serving(token);
      return stored && withUrl(stored);
    },
    lookupNamed(name) {
      let named: StoredPreview | undefined;
      // The latest: a name may move before the preview of a deleted sandbox has ended.
      for (const stored of live.values()) {
        if (stored.access?.name === name && !unconfirmed.has(stored.name)) named = stored;
      }
      return named && withUrl(named);
    },
    lookupPort({ runId, sandboxId, targetPort }) {
      for (const stored of live.values()) {
        const isSame = stored.runId === runId && stored.sandboxId === sandboxId;
        if (isSame && stored.targetPort === targetPort && !unconfirmed.has(stored.name))
          return withUrl(stored);
      }
      return undefined;
    },
    lookupSandboxPort,
    onClosed: (listener) => void listeners.push(listener),
    onLimited: (listener) => void limitListeners.push(listener),

    urlOf,
    ports: {
      domain: () => new URL(urlOf(zone)).host,
      isServed: (port) => lookupSandboxPort(port) !== undefined,
    },

    // All previews of one machine are in one zone, whatever their owner's org.
    async open({ org: _org, ...spec }: PreviewSpec) {
      const present = byToken(spec.token);
      if (present !== undefined) return { preview: withUrl(present), created: false };
      if (live.size >= maxTotal) throw tooManyPreviews(`${maxTotal} previews of this installation`);
      const stored = {
        ...spec,
        name: previewName(spec.token),
        createdAt: nextCreation(),
        localPort: 0,
        uid: randomUUID(),
        version: '1',
      };
      live.set(stored.name, stored);
      unconfirmed.add(stored.name);
      return { preview: withUrl(stored), created: true };
    },

    async awaitReady(preview, signal): Promise<Readiness> {
      const stored = live.get(preview.name);
      if (stored?.uid === preview.uid && unconfirmed.has(stored.name)) write(stored);
      return probeApp(sandboxes, preview, signal);
    },

    async findNamed(name) {
      const stored = live.get(name);
      return stored && withUrl(stored);
    },

    async setAccess({ name, uid }, access) {
      const stored = live.get(name);
      if (stored?.uid !== uid || isOutdated(access, stored.access)) return;
      const limited = unconfirmed.has(name) ? { ...stored, access } : write({ ...stored, access });
      live.set(name, limited);
      for (const listener of limitListeners) listener(withUrl(limited));
    },

    async find(token) {
      const stored = byToken(token);
      return stored && withUrl(stored);
    },

    async touch(token, runId, expiresAt) {
      const stored = serving(token);
      if (stored === undefined || stored.runId !== runId) return undefined;
      const moved = clampExpiry(expiresAt, stored.maxUntil);
      if (stored.expiresAt !== undefined && moved <= stored.expiresAt) return withUrl(stored);
      return withUrl(write({ ...stored, expiresAt: moved }));
    },

    async close({ name }, precondition = {}) {
      const stored = live.get(name);
      if (stored === undefined || !isCurrent(stored, precondition)) return false;
      if (!unconfirmed.delete(name)) files.remove(name);
      live.delete(name);
      for (const listener of listeners) listener(withUrl(stored));
      return true;
    },

    // Ignores `dueBefore`: a full list costs no round trip, and lets the reaper end previews of
    // ended sandboxes and runs within a minute.
    async *list(filter) {
      yield* selected(live.values(), filter).map(withUrl);
    },

    isAmongFirst: async (preview, places, of = 'runId') =>
      isAmongFirst(preview, selected(live.values(), { [of]: preview[of] }), places),

    sweep: (now) => Promise.resolve(files.sweep(now)),
  };
}
