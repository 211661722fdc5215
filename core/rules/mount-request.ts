import { posix } from 'node:path';
import { PortholeError } from '../errors.ts';
import type { BucketCredentials, BucketMount } from '../ports/bucket-mounter.ts';
import { readS3fsOptions } from './s3fs-options.ts';

/** What a caller asks for, its fields of the right kinds. */
export interface MountRequest {
  readonly mountPath: string;
  /** A bucket of an S3 server that the caller names, or one that the configuration has a name for. */
  readonly source:
    | { readonly kind: 'remote'; readonly bucket: string; readonly endpoint: string }
    | { readonly kind: 'binding'; readonly name: string };
  readonly readOnly: boolean;
  readonly prefix: string | undefined;
  readonly credentials: BucketCredentials | undefined;
  readonly s3fsOptions: readonly string[];
}

/** A bucket that the configuration has a name for. */
export interface BucketBinding {
  readonly bucket: string;
  readonly endpoint: string;
  readonly region?: string | undefined;
  readonly prefix?: string | undefined;
  readonly readOnly: boolean;
  readonly credentials?: BucketCredentials | undefined;
}

/** What the configuration says of buckets. */
export interface BucketOptions {
  readonly bindings: Readonly<Record<string, BucketBinding>>;
  /** Origins of S3 servers that whoever owns a sandbox may name; `*` stands for one label. Undefined: those of the large clouds, without our own credentials. */
  readonly endpoints: readonly string[] | undefined;
  /** Our own credentials, for whoever gives none. */
  readonly credentials: BucketCredentials | undefined;
}

/** Servers on the Internet and on no other network, whatever a caller makes of the label. */
export const CLOUD_ENDPOINTS = [
  'https://s3.amazonaws.com',
  'https://s3.*.amazonaws.com',
  'https://*.r2.cloudflarestorage.com',
  'https://storage.googleapis.com',
] as const;

/**
 * The body of a mount, judged in the bridge's order and words. As its documentation has it, `bucket` without an endpoint names a binding, too.
 * @throws PortholeError `invalid_request`
 */
export function readMountRequest(body: unknown): MountRequest {
  const { bucket, binding, mountPath, options } = fields(body);
  if (bucket !== undefined && !isText(bucket)) throw invalid('bucket must be a non-empty string');
  const path = readMountPath(mountPath);
  if (!isObject(options)) throw invalid('options must be an object');
  const { endpoint, s3fsOptions, readOnly, prefix, credentialProxy, credentials } = options;
  if (endpoint !== undefined && typeof endpoint !== 'string') {
    throw invalid('options.endpoint must be a string when provided');
  }
  if (binding !== undefined && typeof binding !== 'string') {
    throw invalid('binding must be a string when provided');
  }
  if (binding === '') throw invalid('binding must be a non-empty string when provided');
  if (binding !== undefined && endpoint !== undefined) {
    throw invalid('Provide either binding or options.endpoint, not both');
  }
  if (s3fsOptions !== undefined && !isTexts(s3fsOptions)) {
    throw invalid('options.s3fsOptions must be an array of strings when provided');
  }
  if (readOnly !== undefined && typeof readOnly !== 'boolean') {
    throw invalid('options.readOnly must be a boolean when provided');
  }
  if (prefix !== undefined && typeof prefix !== 'string') {
    throw invalid('options.prefix must be a string when provided');
  }
  if (credentialProxy !== undefined && typeof credentialProxy !== 'boolean') {
    throw invalid('options.credentialProxy must be a boolean when provided');
  }
  const own = credentials === undefined ? undefined : readCredentials(credentials);
  const common = {
    mountPath: path,
    readOnly: readOnly ?? false,
    prefix,
    credentials: own,
    s3fsOptions: s3fsOptions ?? [],
  };
  if (endpoint !== undefined) {
    if (bucket === undefined) throw invalid('bucket must be a non-empty string for remote mounts');
    return { ...common, source: { kind: 'remote', bucket, endpoint } };
  }
  const name = binding ?? bucket;
  if (name === undefined) throw invalid('binding must be a non-empty string for R2 binding mounts');
  return { ...common, source: { kind: 'binding', name } };
}

/**
 * The path in the body of an unmount.
 * @throws PortholeError `invalid_request`
 */
export function readUnmountRequest(body: unknown): string {
  const path = readMountPath(fields(body)['mountPath']);
  if (path === '/') throw invalid('mountPath must not resolve to / (filesystem root)');
  return path;
}

/**
 * The mount that a request comes to. `mayNameAny`: whether the caller may have this host connect to any server at all, and with our own credentials.
 * @throws PortholeError `mount_error`, `forbidden` for a server that is not the caller's to name
 */
export function resolveMount(
  request: MountRequest,
  options: BucketOptions,
  { mayNameAny }: { readonly mayNameAny: boolean },
): BucketMount {
  const { mountPath, source } = request;
  const s3fsOptions = readS3fsOptions(request.s3fsOptions);
  if (source.kind === 'binding') {
    const binding = Object.hasOwn(options.bindings, source.name) ? options.bindings[source.name] : undefined;
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
  const isOurs = mayNameAny ? !isLinkLocal(endpoint) : false;
  const isVouchedFor = isOurs || matchesAny(endpoint, options.endpoints ?? []);
  if (!isVouchedFor && (options.endpoints !== undefined || !matchesAny(endpoint, CLOUD_ENDPOINTS))) {
    throw new PortholeError(
      'forbidden',
      `No bucket of ${endpoint.origin} may be mounted here: ask for the origin to be added to PORTHOLE_MOUNT_ENDPOINTS, or use a binding.`,
    );
  }
  return {
    mountPath: checkMountPath(mountPath),
    bucket,
    endpoint: endpoint.origin,
    prefix,
    readOnly: request.readOnly,
    credentials: required(request.credentials ?? (isVouchedFor ? options.credentials : undefined)),
    s3fsOptions: withStyle(endpoint.origin, s3fsOptions),
  };
}

function fields(body: unknown): Readonly<Record<string, unknown>> {
  return isObject(body) ? body : {};
}

/** Normal: without `.`, `..`, empty parts and a slash at the end. */
function readMountPath(mountPath: unknown): string {
  if (!isText(mountPath)) throw invalid('mountPath must be a non-empty string');
  if (!mountPath.startsWith('/')) throw invalid('mountPath must be an absolute path (start with /)');
  return posix.resolve('/', mountPath);
}

function readCredentials(value: unknown): BucketCredentials {
  if (
    !isObject(value) ||
    typeof value['accessKeyId'] !== 'string' ||
    typeof value['secretAccessKey'] !== 'string'
  ) {
    throw invalid('options.credentials must include string accessKeyId and secretAccessKey');
  }
  return { accessKeyId: value['accessKeyId'], secretAccessKey: value['secretAccessKey'] };
}

/** What a path may be that goes through system calls, a command line and lists of mounts. */
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

/** Prefixes go into s3fs's `bucket:/prefix`; no part of one leads back out of another. */
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
  // Not repeated: whoever puts a password into a URL must not find it in a log.
  throw failed(
    'options.endpoint must be the http or https origin of an S3 server, e.g. https://s3.amazonaws.com',
  );
}

/** Where clouds give a machine its own credentials. */
function isLinkLocal({ hostname }: URL): boolean {
  return (
    hostname.startsWith('169.254.') ||
    hostname === 'metadata.google.internal' ||
    /^\[(fe[89ab]|fd00:ec2:|::ffff:a9fe:)/.test(hostname)
  );
}

/** Whether the origin is one of the patterns, whose `*` stands for one label. */
function matchesAny({ origin }: URL, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const literal = pattern.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`);
    return new RegExp(`^${literal.replaceAll('*', '[a-z0-9-]+')}$`).test(origin);
  });
}

/** As the bridge: the large clouds are known, all others get paths instead of host names for buckets. */
function withStyle(origin: string, options: readonly string[]): readonly string[] {
  const { hostname } = new URL(origin);
  if (hostname.endsWith('.r2.cloudflarestorage.com')) return ['nomixupload', ...options];
  if (hostname.endsWith('.amazonaws.com') || hostname === 'storage.googleapis.com') return options;
  return ['use_path_request_style', ...options];
}

/** They go through an environment and into a header: what cannot be a key would be something else there. */
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

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function hasControl(text: string): boolean {
  return /\p{Cc}/u.test(text) || !text.isWellFormed();
}

function invalid(message: string): PortholeError {
  return new PortholeError('invalid_request', message);
}

function failed(reason: string): PortholeError {
  return new PortholeError('mount_error', `mount failed: ${reason}`);
}
