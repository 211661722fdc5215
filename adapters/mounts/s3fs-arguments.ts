import type { BucketMount } from '#core/ports/bucket-mounter.ts';

/** What the keeper puts in, where it alone knows. */
const UID = '@UID@';
const GID = '@GID@';
const TARGET = '@TARGET@';

/**
 * How long a server may take, in seconds, and how often it is asked again: a command in the sandbox waits as long. s3fs itself would wait for minutes.
 */
const PATIENCE = ['connect_timeout=10', 'readwrite_timeout=30', 'retries=3'];

/**
 * What makes a bucket look like a folder of the sandbox's user: every file is its own, and what others change in the bucket shows within a second. `ensure_diskfree`
 * is in MiB, of the disk that holds what is being written.
 */
const LIKE_A_FOLDER = [
  'allow_other',
  `uid=${UID}`,
  `gid=${GID}`,
  'umask=022',
  'stat_cache_expire=1',
  'ensure_diskfree=256',
];

/** The command line of s3fs, without a secret: those are in `s3fsEnvironment`. Options of the request come last, so that they win. */
export function s3fsArguments(mount: BucketMount, name: string): string[] {
  const source = mount.prefix === '/' ? mount.bucket : `${mount.bucket}:${mount.prefix}`;
  const signature = mount.s3fsOptions.includes('sigv2') ? [] : ['sigv4'];
  const options = [
    `url=${mount.endpoint}`,
    `fsname=${name}`,
    ...(mount.region === undefined ? [] : [`endpoint=${mount.region}`]),
    ...(mount.readOnly ? ['ro'] : []),
    ...signature,
    ...LIKE_A_FOLDER,
    ...PATIENCE,
    ...mount.s3fsOptions,
  ];
  return ['s3fs', source, TARGET, '-f', ...options.flatMap((option) => ['-o', option])];
}

/** Everything s3fs finds in its environment; its names for the credentials changed in release 1.87. */
export function s3fsEnvironment({ credentials }: BucketMount): Record<string, string> {
  const { accessKeyId, secretAccessKey } = credentials;
  return {
    AWSACCESSKEYID: accessKeyId,
    AWSSECRETACCESSKEY: secretAccessKey,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  };
}
