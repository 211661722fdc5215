import { describe, expect, test } from '@jest/globals';
import { readConfig, secretsOf } from '#host/config/config.ts';
import { ConfigError } from '#protocol/settings/read-environment.ts';

const DATA = { bucket: 'data', endpoint: 'https://s3.example.com' };
const KEYS = { access_key_id: 'id', secret_access_key: 'the-secret-of-a-binding' };

function problems(environment: Readonly<Record<string, string>>): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('the configuration of buckets', () => {
  test('has names for buckets, and one pair of keys, AWS before R2', () => {
    const { buckets } = readConfig({
      PORTHOLE_BUCKETS: JSON.stringify({
        DATA: {
          ...DATA,
          ...KEYS,
          region: 'eu-1',
          prefix: '/a',
          read_only: true,
          open_to: [{ org: 'acme' }, { org: 'globex', user: 'bob' }],
        },
      }),
      PORTHOLE_MOUNT_ENDPOINTS: 'https://S3.example.com/, http://*.internal:9000',
      AWS_ACCESS_KEY_ID: 'aws',
      AWS_SECRET_ACCESS_KEY: 'aws-secret',
      R2_ACCESS_KEY_ID: 'r2',
      R2_SECRET_ACCESS_KEY: 'r2-secret',
    });
    expect(buckets).toEqual({
      bindings: {
        DATA: {
          bucket: 'data',
          endpoint: 'https://s3.example.com',
          region: 'eu-1',
          prefix: '/a',
          readOnly: true,
          openTo: [{ org: 'acme' }, { org: 'globex', user: 'bob' }],
          credentials: { accessKeyId: 'id', secretAccessKey: 'the-secret-of-a-binding' },
        },
      },
      endpoints: ['https://s3.example.com', 'http://*.internal:9000'],
      credentials: { accessKeyId: 'aws', secretAccessKey: 'aws-secret' },
    });
  });

  test('takes half a pair of keys for none: other programs set such variables, too', () => {
    expect(readConfig({ AWS_ACCESS_KEY_ID: 'aws', R2_SECRET_ACCESS_KEY: '' }).buckets).toEqual({
      bindings: {},
      endpoints: undefined,
      credentials: undefined,
    });
  });

  test('names its secrets, so that they are taken out of logs and answers', () => {
    const config = readConfig({
      PORTHOLE_BUCKETS: JSON.stringify({ DATA: { ...DATA, ...KEYS } }),
      AWS_ACCESS_KEY_ID: 'aws',
      AWS_SECRET_ACCESS_KEY: 'aws-secret',
    });
    expect(secretsOf(config)).toEqual(['aws-secret', 'the-secret-of-a-binding']);
  });

  test.each([
    ['not json', 'PORTHOLE_BUCKETS: must be valid JSON'],
    [{ 'a b': DATA }, 'PORTHOLE_BUCKETS ▸ a b: a name has 1 to 100 letters, digits, _, . and -'],
    [
      { DATA: { ...DATA, bucket: 'Data' } },
      'PORTHOLE_BUCKETS ▸ DATA ▸ bucket: must be 1 to 63 lowercase letters, digits, dots and hyphens',
    ],
    [
      { DATA: { ...DATA, endpoint: 'https://s3.example.com/path' } },
      'PORTHOLE_BUCKETS ▸ DATA ▸ endpoint: must be an origin, without a path',
    ],
    [
      { DATA: { ...DATA, prefix: '/a/../b' } },
      'PORTHOLE_BUCKETS ▸ DATA ▸ prefix: must start with a slash and have no part . or ..',
    ],
    [
      { DATA: { ...DATA, access_key_id: 'id' } },
      'PORTHOLE_BUCKETS ▸ DATA: set access_key_id and secret_access_key, or neither',
    ],
    [
      { DATA: { ...DATA, open_to: [{ user: 'alice' }] } },
      'PORTHOLE_BUCKETS ▸ DATA ▸ open_to ▸ 0 ▸ org: must be the name of an org',
    ],
    [{ DATA: { ...DATA, readonly: true } }, 'PORTHOLE_BUCKETS ▸ DATA: Unrecognized key: "readonly"'],
  ])('PORTHOLE_BUCKETS %j is a problem', (value, problem) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    expect(problems({ PORTHOLE_BUCKETS: text })).toEqual([problem]);
  });

  test('reports an endpoint that is not an origin', () => {
    expect(problems({ PORTHOLE_MOUNT_ENDPOINTS: 'https://s3.example.com, s3.example.org' })).toEqual([
      'PORTHOLE_MOUNT_ENDPOINTS ▸ 1: must be origins, e.g. https://s3.example.com, with * for a label',
    ]);
  });
});
