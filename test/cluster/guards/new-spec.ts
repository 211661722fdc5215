import type { PreviewSpec } from '#core/previews/preview-plane.ts';
import { randomBytes } from 'node:crypto';

/** A preview of a separate run that expires in half an hour. */
export function newSpec(change: Partial<PreviewSpec> = {}): PreviewSpec {
  const unique = randomBytes(26).reduce(
    (text, byte) => text + 'abcdefghijklmnopqrstuvwxyz234567'[byte % 32],
    '',
  );
  const now = Date.now();
  return {
    token: `calm-blue-otter-${unique}`,
    runId: `run_${unique}`,
    owner: 'ann',
    sandboxId: unique,
    podName: `sandbox-${unique}`,
    targetPort: 3000,
    startedAt: new Date(now),
    expiresAt: new Date(now + 1_800_000),
    maxUntil: new Date(now + 8 * 3_600_000),
    ...change,
  };
}
