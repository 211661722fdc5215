import type { Ids } from '#base/clock-and-ids.ts';

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** Ids in the real format that count from 1, so that failures are readable and reproducible. */
export function numberedIds(): Ids {
  const counts = { apiKey: 0, sandbox: 0, session: 0, request: 0 };
  const counted = (prefix: string) => {
    let count = 0;
    return () => `${prefix}_${String((count += 1)).padStart(26, '0')}`;
  };
  return {
    run: counted('run'),
    approval: counted('apr'),
    policy: counted('pol'),
    delegation: counted('dlg'),
    apiKeyId: counted('key'),
    apiKey: () => `porthole_${String((counts.apiKey += 1)).padStart(48, '0')}`,
    checkpoint: counted('ckp'),
    link: counted('lnk'),
    webhook: counted('whk'),
    message: counted('msg'),
    look: counted('look'),
    tool: counted('tool'),
    toolVersion: counted('ver'),
    toolRun: counted('trun'),
    snapshot: counted('snap'),
    sandbox: () => inBase32((counts.sandbox += 1)).padStart(26, 'a'),
    session: (now) => `session-${now.getTime()}-${String((counts.session += 1)).padStart(8, 'a')}`,
    request: () => `request-${(counts.request += 1)}`,
  };
}

function inBase32(count: number): string {
  const digit = BASE32[count % 32] as string;
  return count < 32 ? digit : inBase32(Math.floor(count / 32)) + digit;
}
