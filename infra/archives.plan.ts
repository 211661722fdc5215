import { type Row, textsOf } from './variable-rows.ts';
import { SET_SECRET, type StackConfig } from './stack-config-schema.ts';

/** Secret with the keys of the bucket, if the stack manages it. */
export const ARCHIVES_SECRET = 'porthole-archives';

/** Keys of the Secret, which are also the names of the variables, and their settings. */
const KEYS = [
  ['PORTHOLE_ARCHIVE_ACCESS_KEY_ID', 'archiveAccessKeyId'],
  ['PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY', 'archiveSecretAccessKey'],
] as const;

/** A variable of a container: its value, or a reference to a key of a Secret. */
export type Variable =
  | { readonly name: string; readonly value: string }
  | {
      readonly name: string;
      readonly valueFrom: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
    };

/** The variables of archives; the keys have no value, because a Secret holds them. */
export function archiveRows({ archives }: StackConfig): Row[] {
  return [
    ['PORTHOLE_ARCHIVE_BUCKET', 'archives.bucket', archives?.bucket],
    ['PORTHOLE_ARCHIVE_ENDPOINT', 'archives.endpoint', archives?.endpoint],
    ['PORTHOLE_ARCHIVE_REGION', 'archives.region', archives?.region],
    ...KEYS.map(([variable, setting]): Row => [variable, setting, undefined]),
  ];
}

/**
 * Environment of the workloads that archive and restore, the functions and the lifecycle, and of no
 * others. Empty without archives.
 */
export function archiveEnvironmentPlan(config: StackConfig): Variable[] {
  if (config.archives === undefined) return [];
  const secret = config.archives.existingSecret ?? ARCHIVES_SECRET;
  return [
    ...Object.entries(textsOf(archiveRows(config))).map(([name, value]) => ({ name, value })),
    ...KEYS.map(([key]) => ({ name: key, valueFrom: { secretKeyRef: { name: secret, key } } })),
  ];
}

/** The Secret; undefined if it is managed elsewhere, or without archives. */
export function archiveSecretPlan({
  archives,
  archiveAccessKeyId: id,
  archiveSecretAccessKey: secret,
}: StackConfig): Record<(typeof KEYS)[number][0], string> | undefined {
  if (archives === undefined || id === undefined || secret === undefined) return undefined;
  return { PORTHOLE_ARCHIVE_ACCESS_KEY_ID: id, PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY: secret };
}

/** Problems with the keys of the bucket, by setting. */
export function archiveProblems(config: StackConfig): [key: string, problem: string][] {
  const { archives } = config;
  const keys = KEYS.map(([, setting]) => setting);
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
      `is required with archives, unless archives.existingSecret names a Secret that holds it; ${SET_SECRET} porthole:${key}`,
    ]);
}
