import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { isNotHttp } from '#core/diagnosis/port-advice.ts';
import { PortholeError } from '#base/errors.ts';
import type { ClosePrecondition, Preview, PreviewFilter, Readiness } from '#core/previews/preview-plane.ts';
import { isPreviewToken, previewName } from '#core/previews/preview-token.ts';
import type { Sandboxes } from '#core/sandboxes/sandbox-provider.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import { anySignal } from '#base/concurrency.ts';
import { PreviewAccessSchema } from '#protocol/preview-access.ts';
import { PreviewFactsSchema } from '#protocol/preview-facts.ts';
import { askForPage } from './http-app-probe.ts';

/**
 * Creation times, each at least a millisecond after the last: two creations within one clock tick,
 * or around a clock step backwards, keep their order. The preview cap depends on it: a later
 * preview must never outrank one that was already admitted.
 */
export function creationTimes(clock: Clock, earlier: Iterable<Date> = []): () => Date {
  let newest = 0;
  for (const time of earlier) newest = Math.max(newest, time.getTime());
  return () => {
    newest = Math.max(newest + 1, clock.now().getTime());
    return new Date(newest);
  };
}

/** Whether the preconditions of a close hold. */
export function isCurrent(preview: Preview | StoredPreview, { uid, version }: ClosePrecondition): boolean {
  return (uid ?? preview.uid) === preview.uid && (version ?? preview.version) === preview.version;
}

/** The previews that a filter selects, whatever their expiry. */
export function selected<P extends StoredPreview>(
  previews: Iterable<P>,
  { runId, owner, sandboxId }: PreviewFilter = {},
): P[] {
  return [...previews].filter(
    (preview) =>
      (runId ?? preview.runId) === preview.runId &&
      (owner ?? preview.owner) === preview.owner &&
      (sandboxId ?? preview.sandboxId) === preview.sandboxId,
  );
}

/** A preview as stored in its file: without the URL, which depends on the gateway's address. */
export type StoredPreview = Omit<Preview, 'url'>;

const StoredSchema = PreviewFactsSchema.extend({
  name: z.string(),
  token: z.string().refine(isPreviewToken),
  createdAt: PreviewFactsSchema.shape.startedAt,
  access: PreviewAccessSchema.optional(),
  mapsLocalhost: z.boolean().optional(),
  generation: z.number().optional(),
  localPort: z.number(),
  uid: z.string(),
  version: z.string(),
});

/** Age at which a partial file of a crashed write is removed, in milliseconds. */
const HALF_MADE_MS = 120_000;

export interface PreviewFiles {
  all(): StoredPreview[];
  put(preview: StoredPreview): void;
  remove(name: string): void;
  /** Removes half-written files older than two minutes at `now`; returns how many. */
  sweep(now: Date): number;
}

/**
 * One JSON file per preview, mode 0600, replaced by rename. Synchronous on purpose: a file of some
 * hundred bytes costs less than the thread pool, and memory and disk change in the same tick. An
 * unreadable file is kept and serves nothing.
 */
export async function openPreviewFiles(folder: string): Promise<PreviewFiles> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = (name: string) => join(folder, `${name}.json`);
  return {
    all() {
      const found: StoredPreview[] = [];
      for (const file of readdirSync(folder)) {
        if (!file.endsWith('.json')) continue;
        const stored = read(join(folder, file));
        if (stored !== undefined && `${stored.name}.json` === file) found.push(stored);
      }
      return found;
    },
    put(preview) {
      const half = `${path(preview.name)}.half`;
      writeFileSync(half, JSON.stringify(preview), { mode: 0o600 });
      renameSync(half, path(preview.name));
    },
    remove: (name) => rmSync(path(name), { force: true }),
    sweep(now) {
      let swept = 0;
      for (const file of readdirSync(folder)) {
        if (!file.endsWith('.half')) continue;
        const half = join(folder, file);
        if (now.getTime() - statSync(half).mtimeMs < HALF_MADE_MS) continue;
        rmSync(half, { force: true });
        swept += 1;
      }
      return swept;
    },
  };
}

function read(file: string): StoredPreview | undefined {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
  const { success, data } = StoredSchema.safeParse(value);
  return success && data.name === previewName(data.token) ? data : undefined;
}

/** Connect timeout within the machine, in milliseconds. A slower server counts as not listening. */
const PROBE_MS = 2_000;

/**
 * Response timeout, in milliseconds. A slower server counts as HTTP: dev servers compile their
 * first page.
 */
const ANSWER_MS = 500;

/**
 * Probes whether the app behind a preview accepts connections and, where the preview has a URL,
 * whether it speaks HTTP.
 */
export async function probeApp(
  sandboxes: Pick<Sandboxes, 'dial'>,
  { sandboxId, targetPort, url }: Pick<Preview, 'sandboxId' | 'targetPort' | 'url'>,
  signal?: AbortSignal,
): Promise<Readiness> {
  const limit = AbortSignal.timeout(PROBE_MS);
  try {
    const probe = await sandboxes.dial(sandboxId, targetPort, anySignal(signal, limit));
    if (url === null) probe.destroy();
    else if (isNotHttp(await askForPage(probe, targetPort, ANSWER_MS, signal))) {
      return { ready: false, reason: 'not_http' };
    }
    return { ready: true };
  } catch (error) {
    signal?.throwIfAborted();
    const code = error instanceof PortholeError ? error.code : undefined;
    const isGone = code === 'sandbox_not_running' || code === 'sandbox_not_found';
    return { ready: false, reason: isGone ? 'sandbox_stopped' : 'nothing_listens' };
  }
}
