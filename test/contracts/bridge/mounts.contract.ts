import { describe, expect, test } from '@jest/globals';
import type { UnderTest } from '../bridge.contract.ts';
import { ask, refusal } from './bridge-client.ts';

const ENDPOINT = 'https://s3.invalid';
const GOOD = { bucket: 'data', mountPath: '/mnt/data', options: { endpoint: ENDPOINT } };

/**
 * Requests rejected before anything is mounted; mounting itself is tested where an S3 server
 * exists.
 */
export function mountsContract(bridge: UnderTest, id: () => string): void {
  describe('a bucket', () => {
    const post = (what: string, json: unknown) =>
      ask(bridge(), 'POST', `/v1/sandbox/${id()}/${what}`, { json });

    // In the order of validation: each body has the fields that the rows above it require.
    test.each<[string, unknown]>([
      ['bucket must be a non-empty string', { ...GOOD, bucket: 5 }],
      ['mountPath must be a non-empty string', { bucket: 'data', options: {} }],
      ['mountPath must be an absolute path (start with /)', { ...GOOD, mountPath: 'mnt' }],
      ['options must be an object', { ...GOOD, options: [] }],
      ['options.endpoint must be a string when provided', { ...GOOD, options: { endpoint: 5 } }],
      ['binding must be a string when provided', { ...GOOD, binding: 5 }],
      ['binding must be a non-empty string when provided', { ...GOOD, binding: '' }],
      ['Provide either binding or options.endpoint, not both', { ...GOOD, binding: 'DATA' }],
      [
        'options.s3fsOptions must be an array of strings when provided',
        { ...GOOD, options: { endpoint: ENDPOINT, s3fsOptions: [1] } },
      ],
      [
        'options.readOnly must be a boolean when provided',
        { ...GOOD, options: { endpoint: ENDPOINT, readOnly: 'yes' } },
      ],
      [
        'options.prefix must be a string when provided',
        { ...GOOD, options: { endpoint: ENDPOINT, prefix: 1 } },
      ],
      [
        'options.credentialProxy must be a boolean when provided',
        { ...GOOD, options: { endpoint: ENDPOINT, credentialProxy: 1 } },
      ],
      [
        'options.credentials must include string accessKeyId and secretAccessKey',
        { ...GOOD, options: { endpoint: ENDPOINT, credentials: { accessKeyId: 'a' } } },
      ],
      ['bucket must be a non-empty string for remote mounts', { ...GOOD, bucket: undefined }],
    ])('%s', async (message, body) => {
      expect(refusal(await post('mount', body))).toEqual([400, 'invalid_request', message]);
    });

    test('is refused without bucket and binding', async () => {
      expect((await post('mount', { mountPath: '/mnt/data', options: {} })).status).toBe(400);
    });

    test.each([
      ['a binding that is not configured', { bucket: 'UNKNOWN', mountPath: '/mnt/data', options: {} }],
      [
        'a prefix that does not begin with a slash',
        { ...GOOD, options: { endpoint: ENDPOINT, prefix: 'x' } },
      ],
      ['a name that is none', { ...GOOD, bucket: 'Not:A:Bucket' }],
    ])('fails to mount with %s', async (_what, body) => {
      const [status, code, error] = refusal(await post('mount', body));
      expect([status, code, error.startsWith('mount failed: ')]).toEqual([502, 'mount_error', true]);
    });

    test.each<[string, unknown]>([
      ['nothing', {}],
      ['a relative path', { mountPath: 'mnt' }],
      ['the root', { mountPath: '/' }],
      ['the root, by a detour', { mountPath: '/mnt/..' }],
    ])('is not unmounted from %s', async (_what, body) => {
      expect(refusal(await post('unmount', body)).slice(0, 2)).toEqual([400, 'invalid_request']);
    });

    test('fails to unmount when it is not mounted', async () => {
      const [status, code, error] = refusal(await post('unmount', { mountPath: '/mnt/data' }));
      expect([status, code, error.startsWith('unmount failed: ')]).toEqual([502, 'unmount_error', true]);
    });

    test.each(['mount', 'unmount'])('%s takes JSON alone', async (what) => {
      const answer = await ask(bridge(), 'POST', `/v1/sandbox/${id()}/${what}`, { body: '{' });
      expect(refusal(answer)).toEqual([400, 'invalid_request', 'Invalid JSON body']);
    });
  });
}
