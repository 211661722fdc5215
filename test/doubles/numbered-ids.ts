import type { Ids } from '#core/ports/ids.ts';

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** Ids of the real form that count from 1, so that a failure can be read and repeated. */
export function numberedIds(): Ids {
  const counts = { run: 0, approval: 0, policy: 0, sandbox: 0, session: 0, request: 0 };
  return {
    run: () => `run_${String((counts.run += 1)).padStart(26, '0')}`,
    approval: () => `apr_${String((counts.approval += 1)).padStart(26, '0')}`,
    policy: () => `pol_${String((counts.policy += 1)).padStart(26, '0')}`,
    sandbox: () => inBase32((counts.sandbox += 1)).padStart(26, 'a'),
    session: (now) => `session-${now.getTime()}-${String((counts.session += 1)).padStart(8, 'a')}`,
    request: () => `request-${(counts.request += 1)}`,
  };
}

function inBase32(count: number): string {
  const digit = BASE32[count % 32] as string;
  return count < 32 ? digit : inBase32(Math.floor(count / 32)) + digit;
}
