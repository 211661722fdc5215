import type { Person } from '../callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { BucketCredentials, BucketMount } from './mount-bucket.ts';
import type { MountRequest } from './mount-request.ts';

/** A bucket that the configuration names. */
export interface BucketBinding {
  readonly bucket: string;
  readonly endpoint: string;
  readonly region?: string | undefined;
  readonly prefix?: string | undefined;
  readonly readOnly: boolean;
  readonly credentials?: BucketCredentials | undefined;
  /** Organisations, or single users of one, that may use the bucket besides admins. */
  readonly openTo: readonly { readonly org: string; readonly user?: string | undefined }[];
}

/** Bucket options of the configuration. */
export interface BucketOptions {
  readonly bindings: Readonly<Record<string, BucketBinding>>;
  /**
   * Origins of S3 servers that owners of sandboxes may name; `*` matches one label. Undefined:
   * those of the large clouds, without the operator's credentials.
   */
  readonly endpoints: readonly string[] | undefined;
  /** The operator's credentials: for bindings without any, and for admins that give none. */
  readonly credentials: BucketCredentials | undefined;
}

/** Public servers, whatever value a caller puts into the label. */
export const CLOUD_ENDPOINTS = [
  'https://s3.amazonaws.com',
  'https://s3.*.amazonaws.com',
  'https://*.r2.cloudflarestorage.com',
  'https://storage.googleapis.com',
] as const;

/**
 * Resolves a mount request. Only admins may make this host connect to any server (SSRF), or use the
 * operator's credentials with a bucket of their choice.
 * @throws PortholeError `mount_error`, `forbidden` for a binding or a server that is not open to
 * the caller
 */
export function resolveMount(
  request: MountRequest,
  options: BucketOptions,
  caller: Pick<Person, 'user' | 'org' | 'admin'>,
): BucketMount {
  const { mountPath, source } = request;
  const s3fsOptions = readS3fsOptions(request.s3fsOptions);
  if (source.kind === 'binding') {
    const binding = Object.hasOwn(options.bindings, source.name) ? options.bindings[source.name] : undefined;
    if (!caller.admin && !binding?.openTo.some((who) => includes(who, caller))) {
      // The same message if it does not exist, so that names of bindings cannot be probed.
      throw new PortholeError(
        'forbidden',
        `The binding ${JSON.stringify(source.name.slice(0, 100))} does not exist, or is not open to you.`,
        { remedy: 'Ask your administrator to name you or your org in its open_to (PORTHOLE_BUCKETS).' },
      );
    }
    if (binding === undefined) {
      throw failed(
        `there is no binding ${JSON.stringify(source.name.slice(0, 100))}: name it in PORTHOLE_BUCKETS, or give options.endpoint`,
      );
    }
    return {
      mountPath: checkMountPath(mountPath),
      bucket: binding.bucket,
      endpoint: binding.endpoint,
      region: binding.region,
      prefix: joinPrefixes(binding.prefix, request.prefix),
      readOnly: binding.readOnly || request.readOnly,
      credentials: required(binding.credentials ?? options.credentials),
      s3fsOptions: withStyle(binding.endpoint, s3fsOptions),
    };
  }
  const bucket = checkBucketName(source.bucket);
  const prefix = joinPrefixes(undefined, request.prefix);
  const endpoint = readEndpoint(source.endpoint);
  const mayNameAny = caller.admin && !isLinkLocal(endpoint);
  if (!mayNameAny && !matchesAny(endpoint, options.endpoints ?? CLOUD_ENDPOINTS)) {
    throw new PortholeError('forbidden', `No bucket of ${endpoint.origin} may be mounted here`, {
      remedy: 'ask for the origin to be added to PORTHOLE_MOUNT_ENDPOINTS, or use a binding.',
    });
  }
  return {
    mountPath: checkMountPath(mountPath),
    bucket,
    endpoint: endpoint.origin,
    prefix,
    readOnly: request.readOnly,
    credentials: required(request.credentials ?? (caller.admin ? options.credentials : undefined)),
    s3fsOptions: withStyle(endpoint.origin, s3fsOptions),
  };
}

/** Values of the options of s3fs, by the pattern of the value. */
const VALUES = { flag: /^$/, number: /^\d{1,9}$/, octal: /^[0-7]{3,4}$/, word: /^[A-Za-z0-9_-]{1,64}$/ };

/**
 * Options of s3fs for the protocol and the file view, by their values. Excluded: host paths, other
 * servers, logs that would show a signature, and access control of the mount.
 */
const ALLOWED = {
  flag: `allow_other complement_stat compat_dir enable_content_md5 enable_noobj_cache listobjectsv2
    noatime nocopyapi nomixupload nomultipart norenameapi notsup_compat_dir noxmlns requester_pays ro
    sigv2 sigv4 use_path_request_style use_rrs`,
  number: `connect_timeout list_object_max_keys max_dirty_data max_stat_cache_size
    multipart_copy_size multipart_size multipart_threshold multireq_max parallel_count
    readwrite_timeout retries singlepart_copy_limit stat_cache_expire stat_cache_interval_expire`,
  octal: 'mp_umask umask',
  word: 'default_acl endpoint storage_class',
};

const OPTION_VALUES: ReadonlyMap<string, RegExp> = new Map(
  Object.entries(ALLOWED).flatMap(([kind, names]) =>
    names.split(/\s+/).map((name) => [name, VALUES[kind as keyof typeof VALUES]] as const),
  ),
);

/** Options for server and credentials: the request's own fields set them. */
const OURS = new Set(['passwd_file', 'url', 'host']);

/**
 * Splits the options: one text may contain several, as on s3fs's command line.
 * @throws PortholeError `mount_error`
 */
function readS3fsOptions(texts: readonly string[]): readonly string[] {
  const options = texts.flatMap((text) => text.split(',')).map((option) => option.trim());
  return options.filter((option) => option !== '').map(checkOption);
}

function checkOption(option: string): string {
  const [name = '', ...rest] = option.split('=');
  if (OURS.has(name)) throw failed(`s3fs option ${name} cannot be overridden`);
  const form = OPTION_VALUES.get(name);
  // The value is not repeated: it may be a secret with a mistyped option name.
  if (form === undefined)
    throw failed(`s3fs option ${JSON.stringify(name.slice(0, 60))} is not supported here`);
  if (!form.test(rest.join('='))) throw failed(`s3fs option ${name} has an invalid value`);
  return option;
}

function includes(
  who: BucketBinding['openTo'][number],
  { user, org }: Pick<Person, 'user' | 'org'>,
): boolean {
  return who.org === org && (who.user === undefined || who.user === user);
}

/** Maximum length of a path in system calls, command lines and mount tables. */
const MAX_PATH = 1024;

function checkMountPath(path: string): string {
  if (path.length > MAX_PATH || hasControl(path)) {
    throw failed(`mountPath must be at most ${MAX_PATH} characters, none of them a control character`);
  }
  return path;
}

const BUCKET_NAME = /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/;

function checkBucketName(bucket: string): string {
  if (bucket.includes(':')) {
    throw failed(`Bucket name cannot contain ':'. To mount a part of a bucket, use options.prefix`);
  }
  if (BUCKET_NAME.test(bucket)) return bucket;
  throw failed(
    `Invalid bucket name: ${JSON.stringify(bucket.slice(0, 100))}. Bucket names are 1 to 63 lowercase letters, digits, dots and hyphens`,
  );
}

/** Joins prefixes for s3fs's `bucket:/prefix`; no part of the inner one leaves the outer one. */
function joinPrefixes(outer: string | undefined, inner: string | undefined): string {
  if (inner !== undefined && !inner.startsWith('/')) {
    throw failed(`Prefix must start with '/': ${JSON.stringify(inner.slice(0, 100))}`);
  }
  const parts = `${outer ?? ''}/${inner ?? ''}`.split('/').filter((part) => part !== '');
  const joined = `/${parts.join('/')}`;
  if (joined.length > MAX_PATH || hasControl(joined) || parts.some((part) => part === '.' || part === '..')) {
    throw failed(
      `Prefix must have at most ${MAX_PATH} characters, no control character, and no part that is . or ..`,
    );
  }
  return joined;
}

function readEndpoint(endpoint: string): URL {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  const isOrigin =
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    url.username === '' &&
    url.password === '' &&
    url.pathname === '/' &&
    url.search === '' &&
    url.hash === '';
  if (isOrigin) return url;
  // The URL is not repeated: it may contain a password, which must not reach a log.
  throw failed(
    'options.endpoint must be the http or https origin of an S3 server, e.g. https://s3.amazonaws.com',
  );
}

/** Metadata addresses, where clouds serve a machine's credentials. */
function isLinkLocal({ hostname }: URL): boolean {
  return (
    hostname.startsWith('169.254.') ||
    hostname === 'metadata.google.internal' ||
    /^\[(fe[89ab]|fd00:ec2:|::ffff:a9fe:)/.test(hostname)
  );
}

/** Whether the origin matches a pattern; `*` matches one label. */
function matchesAny({ origin }: URL, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const literal = pattern.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`);
    return new RegExp(`^${literal.replaceAll('*', '[a-z0-9-]+')}$`).test(origin);
  });
}

/** As the bridge does: large clouds keep their style, all other servers get path-style requests. */
function withStyle(origin: string, options: readonly string[]): readonly string[] {
  const { hostname } = new URL(origin);
  if (hostname.endsWith('.r2.cloudflarestorage.com')) return ['nomixupload', ...options];
  if (hostname.endsWith('.amazonaws.com') || hostname === 'storage.googleapis.com') return options;
  return ['use_path_request_style', ...options];
}

/** Keys are passed in an environment and in a header: other characters could inject into either. */
const KEY = /^[\x21-\x7e]{1,512}$/;

function required(credentials: BucketCredentials | undefined): BucketCredentials {
  if (credentials === undefined) {
    throw failed(
      'No credentials found: give options.credentials, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or R2_ACCESS_KEY_ID and R2_SECRET_ACCESS_KEY',
    );
  }
  if (KEY.test(credentials.accessKeyId) && KEY.test(credentials.secretAccessKey)) return credentials;
  throw failed('credentials must be 1 to 512 visible ASCII characters');
}

function hasControl(text: string): boolean {
  return /\p{Cc}/u.test(text) || !text.isWellFormed();
}

function failed(reason: string): PortholeError {
  return new PortholeError('mount_error', `mount failed: ${reason}`);
}
