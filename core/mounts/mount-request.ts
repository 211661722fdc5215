import { posix } from 'node:path';
import { PortholeError } from '#base/errors.ts';
import type { BucketCredentials } from './mount-bucket.ts';

/** A mount request with validated field types. */
export interface MountRequest {
  readonly mountPath: string;
  /** A bucket of an S3 server that the caller names, or a binding of the configuration. */
  readonly source:
    | { readonly kind: 'remote'; readonly bucket: string; readonly endpoint: string }
    | { readonly kind: 'binding'; readonly name: string };
  readonly readOnly: boolean;
  readonly prefix: string | undefined;
  readonly credentials: BucketCredentials | undefined;
  readonly s3fsOptions: readonly string[];
}

/**
 * Validates the body of a mount, in the order and with the messages of the bridge. As documented
 * there, `bucket` without an endpoint also names a binding.
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
 * Reads the path in the body of an unmount.
 * @throws PortholeError `invalid_request`
 */
export function readUnmountRequest(body: unknown): string {
  const path = readMountPath(fields(body)['mountPath']);
  if (path === '/') throw invalid('mountPath must not resolve to / (filesystem root)');
  return path;
}

function fields(body: unknown): Readonly<Record<string, unknown>> {
  return isObject(body) ? body : {};
}

/** Normalised: without `.`, `..`, empty segments and a trailing slash. */
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

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function invalid(message: string): PortholeError {
  return new PortholeError('invalid_request', message);
}
