import { randomBytes } from 'node:crypto';
import { monotonicFactory } from 'ulid';
import type { Ids } from '#core/ports/ids.ts';
import { base32 } from '#core/rules/preview-token.ts';

const ulid = monotonicFactory();

export const randomIds: Ids = {
  run: () => `run_${ulid()}`,
  sandbox: () => base32(randomBytes(16)),
  request: () => randomBytes(8).toString('hex'),
};
