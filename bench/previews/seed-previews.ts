import { randomBytes } from 'node:crypto';
import { gate } from '#adapters/kubernetes/client/exchange.ts';
import type { Preview, PreviewPlane } from '#core/previews/preview-plane.ts';
import { LIFE_MS, wantedPreview } from './preview-fixture.ts';

const MINUTE = 60_000;
const AT_ONCE = 32;

/**
 * Previews of a typical day: of every age; every other one is being viewed, so its last keepalive
 * was a minute ago, and the others' was at any time of the last half hour. None is due at `now` or,
 * on request, all are.
 */
export function seedPreviews(
  plane: PreviewPlane,
  count: number,
  now: Date,
  { due = false }: { due?: boolean } = {},
): Promise<Preview[]> {
  const oneOfFew = gate(AT_ONCE);
  return Promise.all(
    Array.from({ length: count }, (_, at) =>
      oneOfFew(async () => {
        const share = at / count;
        // Even the oldest has more left than one idle window.
        const startedAt = new Date(now.getTime() - share * (LIFE_MS - 60 * MINUTE));
        const left = at % 2 === 0 ? 29 : 1 + 28 * ((at * 0.618) % 1);
        const idle = (due ? -1 : left) * MINUTE;
        const wanted = wantedPreview(startedAt, new Date(now.getTime() + idle));
        const runId = `run_${at}_${randomBytes(4).toString('hex')}`;
        const { preview } = await plane.open({ ...wanted, runId });
        return preview;
      }),
    ),
  );
}
