import { randomBytes } from 'node:crypto';
import { monotonicFactory } from 'ulid';
import type { Ids } from '#core/ports/ids.ts';
import { base32 } from '#core/rules/preview-token.ts';

const ulid = monotonicFactory();

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
  sandbox: () => base32(randomBytes(16)),
  session: (now) => `session-${now.getTime()}-${base32(randomBytes(5))}`,
  // Drawn once a process and counted on: fresh randomness would cost a tenth of a small request.
  request: () => `${PROCESS}${(requests++).toString(16).padStart(8, '0')}`,
};
