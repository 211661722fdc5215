import { describe, expect, test } from '@jest/globals';
import { readMountRequest } from '#core/mounts/mount-request.ts';
import { type BucketOptions, resolveMount } from '#core/mounts/resolve-mount.ts';

const AMBIENT = { accessKeyId: 'ours', secretAccessKey: 'our-secret' };
const GIVEN = { accessKeyId: 'theirs', secretAccessKey: 'their-secret' };
const AWS = 'https://s3.amazonaws.com';

const CLOSED =
  'The binding "DATA" does not exist, or is not open to you. Ask your administrator to name you or your org in its open_to (PORTHOLE_BUCKETS).';

const NOTHING: BucketOptions = { bindings: {}, endpoints: undefined, credentials: undefined };

function resolve(
  { admin = false, ...body }: Readonly<Record<string, unknown>> & { readonly admin?: boolean },
  options: Partial<BucketOptions> = {},
) {
  const request = readMountRequest({ bucket: 'bucket', mountPath: '/mnt/data', ...body });
  return resolveMount(request, { ...NOTHING, ...options }, { user: 'alice', org: 'acme', admin });
}

describe('a bucket server named by a caller', () => {
  test.each([
    [AWS, []],
    ['https://s3.eu-west-1.amazonaws.com', []],
    ['https://account.r2.cloudflarestorage.com', ['nomixupload']],
    ['https://storage.googleapis.com/', []],
  ])('accepts %s from every caller that sends its own keys', (endpoint, s3fsOptions) => {
    expect(resolve({ options: { endpoint, credentials: GIVEN } }, { credentials: AMBIENT })).toEqual({
      mountPath: '/mnt/data',
      bucket: 'bucket',
      endpoint: endpoint.replace(/\/$/, ''),
      prefix: '/',
      readOnly: false,
      credentials: GIVEN,
      s3fsOptions,
    });
  });

  test.each([
    'http://127.0.0.1:8333',
    'http://localhost',
    'http://169.254.169.254',
    'http://[::1]:8080',
    'https://10.0.0.7',
    'https://minio.example.com',
    'http://s3.amazonaws.com',
    'https://s3.amazonaws.com:8443',
    'https://s3.a.b.amazonaws.com',
    'https://ec2-10-0-0-1.compute-1.amazonaws.com',
    'https://s3.amazonaws.com.evil.example',
    'https://xs3.amazonaws.com',
  ])('rejects %s unless the caller is an admin', (endpoint) => {
    expect(() => resolve({ options: { endpoint, credentials: GIVEN } })).toThrow(
      `No bucket of ${endpoint} may be mounted here: ask for the origin to be added to PORTHOLE_MOUNT_ENDPOINTS, or use a binding.`,
    );
  });

  test('accepts a configured server from everyone, and then rejects the large clouds', () => {
    const endpoints = ['http://*.example.com:9000'];
    const mine = { endpoint: 'http://s3.example.com:9000', credentials: GIVEN };
    expect(resolve({ options: mine }, { endpoints })).toMatchObject({
      credentials: GIVEN,
      s3fsOptions: ['use_path_request_style'],
    });
    expect(() => resolve({ options: { endpoint: AWS, credentials: GIVEN } }, { endpoints })).toThrow(
      'No bucket of',
    );
  });

  test.each([undefined, [AWS]])(
    'never sends the operator’s keys to a bucket that a user chose (%j)',
    (endpoints) => {
      expect(() => resolve({ options: { endpoint: AWS } }, { endpoints, credentials: AMBIENT })).toThrow(
        'mount failed: No credentials found',
      );
    },
  );

  test('lets an admin use any server with the operator’s keys', () => {
    const options = { endpoint: 'http://127.0.0.1:8333' };
    expect(resolve({ admin: true, options }, { credentials: AMBIENT })).toMatchObject({
      endpoint: 'http://127.0.0.1:8333',
      credentials: AMBIENT,
    });
  });

  test.each([
    'http://169.254.169.254',
    'http://2852039166',
    'http://[fe80::1]',
    'http://[::ffff:169.254.169.254]',
    'http://metadata.google.internal',
  ])('rejects %s for admins too: it is a metadata endpoint (SSRF)', (endpoint) => {
    expect(() => resolve({ admin: true, options: { endpoint, credentials: GIVEN } })).toThrow('No bucket of');
  });

  test.each([
    'ftp://s3.amazonaws.com',
    's3.amazonaws.com',
    'https://user:password@s3.amazonaws.com',
    'https://s3.amazonaws.com/path',
    'https://s3.amazonaws.com/?x=1',
    'file:///etc/passwd',
    '',
  ])('rejects %j, which is not an origin, without repeating it', (endpoint) => {
    expect(() => resolve({ options: { endpoint, credentials: GIVEN } })).toThrow(
      /^mount failed: options\.endpoint must be the http or https origin of an S3 server, e\.g\. https:\/\/s3\.amazonaws\.com$/,
    );
  });
});

describe('a binding', () => {
  const bindings = {
    DATA: {
      bucket: 'real',
      endpoint: 'http://127.0.0.1:9000',
      region: 'eu',
      prefix: '/team',
      readOnly: true,
      credentials: GIVEN,
      openTo: [{ org: 'acme' }],
    },
    OURS: { bucket: 'real', endpoint: AWS, readOnly: false, openTo: [{ org: 'acme', user: 'alice' }] },
  };

  test('sets bucket, server, keys and limits, which a request can only narrow', () => {
    const body = { bucket: 'DATA', options: { prefix: '/a/', readOnly: false, credentials: AMBIENT } };
    expect(resolve(body, { bindings })).toEqual({
      mountPath: '/mnt/data',
      bucket: 'real',
      endpoint: 'http://127.0.0.1:9000',
      region: 'eu',
      prefix: '/team/a',
      readOnly: true,
      credentials: GIVEN,
      s3fsOptions: ['use_path_request_style'],
    });
  });

  test('uses the operator’s keys if it has none', () => {
    expect(resolve({ binding: 'OURS', options: {} }, { bindings, credentials: AMBIENT })).toMatchObject({
      credentials: AMBIENT,
    });
  });

  test.each(['NONE', 'constructor', '__proto__'])('rejects the unknown binding %s', (binding) => {
    expect(() => resolve({ admin: true, binding, options: {} }, { bindings })).toThrow(
      `mount failed: there is no binding "${binding}": name it in PORTHOLE_BUCKETS, or give options.endpoint`,
    );
  });

  test.each([
    ['names no one', []],
    ['names another org', [{ org: 'globex' }]],
    ['names another user of the org', [{ org: 'acme', user: 'bob' }]],
    ['names a user of the same name in another org', [{ org: 'globex', user: 'alice' }]],
  ])('allows a binding that %s to admins only', (_what, openTo) => {
    const named = { DATA: { ...bindings.DATA, openTo } };
    expect(() => resolve({ binding: 'DATA', options: {} }, { bindings: named })).toThrow(
      expect.objectContaining({ code: 'forbidden', message: CLOSED }),
    );
    expect(resolve({ admin: true, binding: 'DATA', options: {} }, { bindings: named })).toMatchObject({
      bucket: 'real',
    });
  });

  test('answers a user alike for an unknown and a forbidden binding', () => {
    expect(() => resolve({ binding: 'DATA', options: {} })).toThrow(
      expect.objectContaining({ code: 'forbidden', message: CLOSED }),
    );
  });

  test.each(['/..', '/../other', '/a/../../b', '/.', '/a\n', '/\u0000'])(
    'keeps the prefix %j inside the binding',
    (prefix) => {
      expect(() => resolve({ binding: 'DATA', options: { prefix } }, { bindings })).toThrow(
        'mount failed: Prefix must have',
      );
    },
  );
});

describe('a mount', () => {
  const remote = { endpoint: AWS, credentials: GIVEN };

  test.each([
    [{ bucket: 'a:b' }, "Bucket name cannot contain ':'. To mount a part of a bucket, use options.prefix"],
    [
      { bucket: 'Upper' },
      'Invalid bucket name: "Upper". Bucket names are 1 to 63 lowercase letters, digits, dots and hyphens',
    ],
    [
      { bucket: '-o' },
      'Invalid bucket name: "-o". Bucket names are 1 to 63 lowercase letters, digits, dots and hyphens',
    ],
    [{ options: { ...remote, prefix: 'x' } }, 'Prefix must start with \'/\': "x"'],
    [
      { mountPath: '/mnt/a\u0000b' },
      'mountPath must be at most 1024 characters, none of them a control character',
    ],
    [
      { mountPath: `/mnt/${'x'.repeat(1024)}` },
      'mountPath must be at most 1024 characters, none of them a control character',
    ],
    [{ options: { ...remote, s3fsOptions: ['url=http://evil'] } }, 's3fs option url cannot be overridden'],
    [
      { options: { ...remote, s3fsOptions: ['ro,passwd_file=/etc/x'] } },
      's3fs option passwd_file cannot be overridden',
    ],
    [
      { options: { ...remote, s3fsOptions: ['use_cache=/etc'] } },
      's3fs option "use_cache" is not supported here',
    ],
    [{ options: { ...remote, s3fsOptions: ['curldbg'] } }, 's3fs option "curldbg" is not supported here'],
    [{ options: { ...remote, s3fsOptions: ['toString'] } }, 's3fs option "toString" is not supported here'],
    [{ options: { ...remote, s3fsOptions: ['retries=x'] } }, 's3fs option retries has an invalid value'],
    [
      { options: { endpoint: AWS, credentials: { accessKeyId: '', secretAccessKey: 's' } } },
      'credentials must be 1 to 512 visible ASCII characters',
    ],
    [
      { options: { endpoint: AWS, credentials: { accessKeyId: 'a', secretAccessKey: 's\n' } } },
      'credentials must be 1 to 512 visible ASCII characters',
    ],
  ])('rejects %j: %s', (changes, reason) => {
    expect(() => resolve({ options: remote, ...changes })).toThrow(
      expect.objectContaining({ code: 'mount_error', message: `mount failed: ${reason}` }),
    );
  });

  test.each([['/'], ['/a'], ['/a/'], ['//a//']])('normalizes slashes around the prefix %s', (prefix) => {
    expect(resolve({ options: { ...remote, prefix } })).toMatchObject({
      prefix: prefix === '/' ? '/' : '/a',
    });
  });

  test('passes each allowed s3fs option separately', () => {
    const s3fsOptions = ['nomultipart, retries=5', 'storage_class=standard_ia'];
    expect(resolve({ options: { ...remote, s3fsOptions } })).toMatchObject({
      s3fsOptions: ['nomultipart', 'retries=5', 'storage_class=standard_ia'],
    });
  });
});
