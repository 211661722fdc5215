import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { monotonicFactory } from 'ulid';
import { base32 } from '#core/previews/preview-token.ts';
import type { Ids, WakingClock } from '#base/clock-and-ids.ts';

/** Ascends within this process. */
export const ulid = monotonicFactory();

const PROCESS = randomBytes(4).toString('hex');
let requests = 0;

export const randomIds: Ids = {
  run: () => `run_${ulid()}`,
  approval: () => `apr_${ulid()}`,
  policy: () => `pol_${ulid()}`,
  tool: () => `tool_${ulid()}`,
  toolVersion: () => `ver_${ulid()}`,
  toolRun: () => `trun_${ulid()}`,
  snapshot: () => `snap_${ulid()}`,
  delegation: () => `dlg_${ulid()}`,
  apiKeyId: () => `key_${ulid()}`,
  apiKey: () => `porthole_${randomBytes(24).toString('hex')}`,
  checkpoint: () => `ckp_${ulid()}`,
  link: () => `lnk_${ulid()}`,
  webhook: () => `whk_${ulid()}`,
  message: () => `msg_${ulid()}`,
  look: () => `look_${ulid()}`,
  sandbox: () => base32(randomBytes(16)),
  session: (now) => `session-${now.getTime()}-${base32(randomBytes(5))}`,
  // Random once per process, then a counter: cheaper than fresh randomness.
  request: () => `${PROCESS}${(requests++).toString(16).padStart(8, '0')}`,
};

/** The longest that a timer of Node can be set to, in milliseconds. */
const MAX_TIMER_MS = 2_147_483_647;

export const systemClock: WakingClock = {
  now: () => new Date(),

  async until(at, signal) {
    // The time that it takes at most: the clock may be set back meanwhile.
    const end = performance.now() + at.getTime() - Date.now();
    for (;;) {
      const left = Math.min(at.getTime() - Date.now(), end - performance.now());
      if (left <= 0 || signal?.aborted === true) return;
      // Timers fire up to a millisecond early and stop while the machine sleeps: check the clock
      // again.
      await pause(Math.min(left, MAX_TIMER_MS), undefined, { signal }).catch(() => undefined);
    }
  },
};
