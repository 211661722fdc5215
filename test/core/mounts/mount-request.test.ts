import { describe, expect, test } from '@jest/globals';
import { PortholeError } from '#base/errors.ts';
import { readMountRequest, readUnmountRequest } from '#core/mounts/mount-request.ts';

const PATH = '/mnt/data';
const REMOTE = { endpoint: 'https://s3.amazonaws.com' };

function messageOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof PortholeError && error.code === 'invalid_request') return error.message;
    throw error;
  }
  throw new Error('was not refused');
}

describe('mount request', () => {
  // In the bridge's order: each row passes the checks of the rows above, and fails all checks
  // below.
  test.each([
    [{ bucket: '' }, 'bucket must be a non-empty string'],
    [{ bucket: 1 }, 'bucket must be a non-empty string'],
    [{}, 'mountPath must be a non-empty string'],
    ['text', 'mountPath must be a non-empty string'],
    [[], 'mountPath must be a non-empty string'],
    [null, 'mountPath must be a non-empty string'],
    [{ mountPath: '' }, 'mountPath must be a non-empty string'],
    [{ mountPath: 'mnt' }, 'mountPath must be an absolute path (start with /)'],
    [{ mountPath: PATH }, 'options must be an object'],
    [{ mountPath: PATH, options: [] }, 'options must be an object'],
    [{ mountPath: PATH, options: null, binding: 1 }, 'options must be an object'],
    [
      { mountPath: PATH, options: { endpoint: 1 }, binding: 1 },
      'options.endpoint must be a string when provided',
    ],
    [{ mountPath: PATH, options: {}, binding: 1 }, 'binding must be a string when provided'],
    [{ mountPath: PATH, options: REMOTE, binding: '' }, 'binding must be a non-empty string when provided'],
    [
      { mountPath: PATH, options: { ...REMOTE, s3fsOptions: 1 }, binding: 'B' },
      'Provide either binding or options.endpoint, not both',
    ],
    [
      { mountPath: PATH, options: { ...REMOTE, s3fsOptions: ['ro', 1], readOnly: 1 } },
      'options.s3fsOptions must be an array of strings when provided',
    ],
    [
      { mountPath: PATH, options: { ...REMOTE, readOnly: 'yes', prefix: 1 } },
      'options.readOnly must be a boolean when provided',
    ],
    [
      { mountPath: PATH, options: { ...REMOTE, prefix: 1, credentialProxy: 1 } },
      'options.prefix must be a string when provided',
    ],
    [
      { mountPath: PATH, options: { ...REMOTE, credentialProxy: 1, credentials: 1 } },
      'options.credentialProxy must be a boolean when provided',
    ],
    [
      { mountPath: PATH, options: { ...REMOTE, credentials: { accessKeyId: 'a' } } },
      'options.credentials must include string accessKeyId and secretAccessKey',
    ],
    [
      { mountPath: PATH, options: { ...REMOTE, credentials: null } },
      'options.credentials must include string accessKeyId and secretAccessKey',
    ],
    [{ mountPath: PATH, options: REMOTE }, 'bucket must be a non-empty string for remote mounts'],
    [{ mountPath: PATH, options: {} }, 'binding must be a non-empty string for R2 binding mounts'],
  ])('rejects %j: %s', (body, message) => {
    expect(messageOf(() => readMountRequest(body))).toBe(message);
  });

  test('accepts a bucket of a server with all options', () => {
    const credentials = { accessKeyId: 'a', secretAccessKey: 's' };
    const options = {
      ...REMOTE,
      provider: 's3',
      readOnly: true,
      prefix: '/p',
      credentials,
      s3fsOptions: ['ro'],
    };
    expect(readMountRequest({ bucket: 'b', mountPath: '/mnt//x/../data/', options })).toEqual({
      mountPath: '/mnt/data',
      source: { kind: 'remote', bucket: 'b', endpoint: 'https://s3.amazonaws.com' },
      readOnly: true,
      prefix: '/p',
      credentials,
      s3fsOptions: ['ro'],
    });
  });

  test.each([
    ['binding', { binding: 'DATA' }],
    ['bucket without an endpoint', { bucket: 'DATA' }],
    ['binding before bucket', { binding: 'DATA', bucket: 'other' }],
  ])('accepts a binding named by %s', (_name, fields) => {
    expect(readMountRequest({ ...fields, mountPath: PATH, options: {} })).toEqual({
      mountPath: PATH,
      source: { kind: 'binding', name: 'DATA' },
      readOnly: false,
      prefix: undefined,
      credentials: undefined,
      s3fsOptions: [],
    });
  });
});

describe('unmount request', () => {
  test.each([
    [{}, 'mountPath must be a non-empty string'],
    [{ mountPath: 7 }, 'mountPath must be a non-empty string'],
    [{ mountPath: 'mnt/data' }, 'mountPath must be an absolute path (start with /)'],
    [{ mountPath: '/' }, 'mountPath must not resolve to / (filesystem root)'],
    [{ mountPath: '/mnt/../..' }, 'mountPath must not resolve to / (filesystem root)'],
  ])('rejects %j: %s', (body, message) => {
    expect(messageOf(() => readUnmountRequest(body))).toBe(message);
  });

  test('normalizes the path', () => {
    expect(readUnmountRequest({ mountPath: '/mnt/./a/../data/' })).toBe('/mnt/data');
  });
});
