import type { StackConfig } from './stack-config-schema.ts';

/** Secret with the keys of the bucket, if the stack manages it. */
export const ARCHIVES_SECRET = 'porthole-archives';

/** Keys of the Secret, which are also the names of the variables. */
const KEYS = ['PORTHOLE_ARCHIVE_ACCESS_KEY_ID', 'PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY'] as const;

/** A variable of a container: its value, or a reference to a key of a Secret. */
export type Variable =
  | { readonly name: string; readonly value: string }
  | {
      readonly name: string;
      readonly valueFrom: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
    };

/**
 * Environment of the workloads that archive and restore, the functions and the lifecycle, and of no
 * others. Empty without archives.
 */
export function archiveEnvironmentPlan({ archives }: StackConfig): Variable[] {
  if (archives === undefined) return [];
  const { bucket, endpoint, region, existingSecret } = archives;
  const secret = existingSecret ?? ARCHIVES_SECRET;
  return [
    { name: 'PORTHOLE_ARCHIVE_BUCKET', value: bucket },
    ...(endpoint === undefined ? [] : [{ name: 'PORTHOLE_ARCHIVE_ENDPOINT', value: endpoint }]),
    { name: 'PORTHOLE_ARCHIVE_REGION', value: region },
    ...KEYS.map((key) => ({ name: key, valueFrom: { secretKeyRef: { name: secret, key } } })),
  ];
}

/** The Secret; undefined if it is managed elsewhere, or without archives. */
export function archiveSecretPlan({
  archives,
  archiveAccessKeyId: id,
  archiveSecretAccessKey: secret,
}: StackConfig): Record<(typeof KEYS)[number], string> | undefined {
  if (archives === undefined || id === undefined || secret === undefined) return undefined;
  return { PORTHOLE_ARCHIVE_ACCESS_KEY_ID: id, PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY: secret };
}

/** Problems with the keys of the bucket, by setting. */
export function archiveProblems(config: StackConfig): [key: string, problem: string][] {
  const { archives } = config;
  const keys = ['archiveAccessKeyId', 'archiveSecretAccessKey'] as const;
  const given = keys.filter((key) => config[key] !== undefined);
  if (archives === undefined) {
    return given.map((key) => [key, 'is not used, because archives names no bucket']);
  }
  if (archives.existingSecret !== undefined) {
    return given.map((key) => [
      key,
      'is not used, because archives.existingSecret names a Secret kept by others',
    ]);
  }
  return keys
    .filter((key) => config[key] === undefined)
    .map((key) => [
      key,
      `is required with archives, unless archives.existingSecret names a Secret that holds it; set it with: pulumi config set --secret porthole:${key}`,
    ]);
}
