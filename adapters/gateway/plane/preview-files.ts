import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Preview } from '#core/ports/preview-plane.ts';
import { isPreviewToken, previewName } from '#core/rules/preview-token.ts';

/** A preview as its file holds it: all but the URL, which depends on where the gateway listens today. */
export type StoredPreview = Omit<Preview, 'url'>;

const time = z.iso.datetime().transform((text) => new Date(text));
const StoredSchema = z.strictObject({
  name: z.string(),
  token: z.string().refine(isPreviewToken),
  runId: z.string(),
  owner: z.string(),
  sandboxId: z.string(),
  podName: z.string(),
  targetPort: z.number(),
  createdAt: time,
  startedAt: time,
  expiresAt: time,
  maxUntil: time,
  localPort: z.number(),
  uid: z.string(),
  version: z.string(),
});

/** What a crash in the middle of a write leaves behind is removed once it is this old. */
const HALF_MADE_MS = 120_000;

export interface PreviewFiles {
  all(): StoredPreview[];
  put(preview: StoredPreview): void;
  remove(name: string): void;
  /** Removes half-written files older than two minutes at `now`; says how many. */
  sweep(now: Date): number;
}

/**
 * One JSON file a preview, mode 0600, replaced by rename. Synchronous on purpose: a file of some hundred bytes costs less than the trip through the
 * thread pool, and memory and disk then change in one turn. A file that cannot be read is left alone and serves nothing.
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
