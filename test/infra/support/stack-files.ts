import { join } from 'node:path';
import type { Registration } from '../../pulumi/record-program.ts';
import { Secret } from '../../pulumi/wire-values.ts';

/** The values of a stack file. */
export interface StackFile {
  readonly config: Readonly<Record<string, unknown>>;
  /** Keys that the file holds encrypted, with their values in clear text. */
  readonly secrets: Readonly<Record<string, string>>;
}

/** The program's entry. */
export const MAIN = join(import.meta.dirname, '../../../infra/main.ts');

export const DATABASE_URL = 'postgres://porthole:hunter2@db.example.com/porthole';
export const SIGNING_KEYS = JSON.stringify({
  keys: [{ kty: 'oct', kid: 'one', k: 'c2lnbmluZy1rZXktb2YtdGhpcnR5LXR3by1ieXRlcyE' }],
});
export const SERVICE_KEY = 'service-key-of-the-tests';

/** The minimal content of a stack file, with additions. */
export function stackFile(more: Readonly<Record<string, unknown>> = {}): StackFile {
  return {
    config: {
      'porthole:zone': 'preview.test',
      'porthole:apiHost': 'porthole.example.com',
      'porthole:gateway': { className: 'traefik', podNamespace: 'traefik', podLabels: { app: 'traefik' } },
      'porthole:certificates': { issuer: { name: 'letsencrypt' } },
      'porthole:functions': { image: 'registry.example.com/functions@sha256:0123' },
      'porthole:sandboxes': { image: 'registry.example.com/sandbox@sha256:4567' },
      ...more,
    },
    secrets: {
      'porthole:databaseUrl': DATABASE_URL,
      'porthole:signingKeys': SIGNING_KEYS,
      'porthole:serviceKey': SERVICE_KEY,
    },
  };
}

/** The decoded data of a Secret; fails unless it is marked as a secret as a whole. */
export function secretTexts({ inputs }: Registration): Record<string, string> {
  const { data } = inputs;
  if (!(data instanceof Secret)) throw new Error('the data of the Secret is not marked as secret');
  return Object.fromEntries(
    Object.entries(data.reveal() as Record<string, string>).map(([key, value]) => [
      key,
      Buffer.from(value, 'base64').toString(),
    ]),
  );
}

/** The values as the command line passes them: every one as text, and structured values as JSON. */
export function values({ config, secrets }: StackFile): Record<string, string> {
  return Object.fromEntries(
    Object.entries({ ...config, ...secrets }).map(([key, value]) => [
      key,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
}
