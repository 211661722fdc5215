import { createHash } from 'node:crypto';

/** What stands for an API key where the key itself must not: its sha256, in base64. */
export function keyDigest(key: string): string {
  return createHash('sha256').update(key).digest('base64');
}
