import { PortholeError } from '#base/errors.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import type { Preview, PreviewPlane, Readiness } from '#core/previews/preview-plane.ts';
import { isAmongFirst } from '#core/previews/preview-limits.ts';
import { clampExpiry } from '#core/previews/preview-lifetime.ts';
import { previewName } from '#core/previews/preview-token.ts';

export interface MemoryPlaneOptions {
  readonly clock: Clock;
  /** Maximum live previews in total. */
  readonly maxTotal?: number;
  /** Readiness of the apps in the sandboxes. */
  readonly readiness?: (preview: Preview) => Readiness;
}

/** A plane with an accessible store, which tests can corrupt. */
export interface MemoryPlane extends PreviewPlane {
  /** Stored previews, by name. */
  readonly stored: Map<string, Preview>;
  /** Creation times of partially created objects. */
  readonly partiallyMade: Date[];
  /** Whether a request to the token's URL reaches the sandbox. */
  reaches(token: string): boolean;
}

const HALF_MADE_MS = 120_000;

/**
 * The simplest plane, like a store behind a network: every method is one atomic step, and the
 * result of `open` serves at once. `interleaved` adds a pause before and after each step.
 */
export function memoryPreviewPlane({
  clock,
  maxTotal = Number.POSITIVE_INFINITY,
  readiness = () => ({ ready: true }),
}: MemoryPlaneOptions): MemoryPlane {
  const stored = new Map<string, Preview>();
  const partiallyMade: Date[] = [];
  let writes = 0;
  let newest = 0;
  const byToken = (token: string) => stored.get(previewName(token));
  const write = (preview: Preview) => {
    const written = { ...preview, version: `v${(writes += 1)}` };
    stored.set(written.name, written);
    return written;
  };

  return {
    hasUrls: true,
    needsOpenAddress: false,
    seesTraffic: true,
    lastUsed: () => Promise.resolve(undefined),
    urlOf: (host) => `http://${host}`,
    stored,
    partiallyMade,
    reaches: (token) => byToken(token) !== undefined,

    async open(spec) {
      const present = byToken(spec.token);
      if (present !== undefined) return { preview: present, created: false };
      if (stored.size >= maxTotal) throw new PortholeError('too_many_previews', 'The plane is full.');
      newest = Math.max(newest + 1, clock.now().getTime());
      const preview = write({
        ...spec,
        name: previewName(spec.token),
        createdAt: new Date(newest),
        url: `http://${spec.token}-preview.test`,
        localPort: 0,
        uid: `uid-${writes + 1}`,
        version: '',
      });
      return { preview, created: true };
    },

    async awaitReady(preview, signal) {
      signal?.throwIfAborted();
      return readiness(preview);
    },

    find: async (token) => byToken(token),
    findNamed: async (name) => stored.get(name),
    async setAccess({ name }, access) {
      const present = stored.get(name);
      if (present !== undefined) write({ ...present, access });
    },

    async touch(token, runId, expiresAt) {
      const present = byToken(token);
      if (present?.runId !== runId) return undefined;
      const moved = clampExpiry(expiresAt, present.maxUntil);
      if (present.expiresAt !== undefined && moved <= present.expiresAt) return present;
      return write({ ...present, expiresAt: moved });
    },

    async close({ name }, { uid, version } = {}) {
      const present = stored.get(name);
      if (present === undefined) return false;
      if (uid !== undefined && uid !== present.uid) return false;
      if (version !== undefined && version !== present.version) return false;
      return stored.delete(name);
    },

    /** Omits previews that do not match the filters. */
    async *list({ runId, owner, sandboxId, dueBefore } = {}) {
      const present = [...stored.values()];
      for (const preview of present) {
        if (runId !== undefined && preview.runId !== runId) continue;
        if (owner !== undefined && preview.owner !== owner) continue;
        if (sandboxId !== undefined && preview.sandboxId !== sandboxId) continue;
        const { expiresAt } = preview;
        if (dueBefore === undefined || expiresAt === undefined || expiresAt <= dueBefore) yield preview;
      }
    },

    isAmongFirst: async (preview, places, of = 'runId') =>
      isAmongFirst(
        preview,
        [...stored.values()].filter((other) => other[of] === preview[of]),
        places,
      ),

    async sweep(now) {
      const before = partiallyMade.length;
      const young = partiallyMade.filter((made) => now.getTime() - made.getTime() < HALF_MADE_MS);
      partiallyMade.splice(0, before, ...young);
      return before - young.length;
    },
  };
}
