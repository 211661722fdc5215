import { expect, test } from '@jest/globals';
import { ocsfMissing, ocsfProblems } from '#test/support/ocsf-schema.ts';
import { suite } from '#test/support/suite.ts';
import { ocsfNetworkActivity } from '#core/network/ocsf-network-activity.ts';
import type { NetworkAttempt } from '#core/network/network.ts';

const ATTEMPT = {
  host: 'registry.npmjs.org',
  port: 443,
  decision: 'allowed',
  rule: 'preset npm',
  attempts: 3,
  bytesIn: 2_000,
  bytesOut: 100,
  ms: 40,
} satisfies NetworkAttempt & { attempts: number };
const AT = new Date('2026-07-01T12:00:00.000Z');

suite('an attempt as an OCSF event', ocsfMissing, () => {
  test.each([
    ['allowed', 400_102, { action: 'Allowed', disposition: 'Allowed', status: 'Success' }],
    ['blocked', 400_105, { action: 'Denied', disposition: 'Blocked', status: 'Failure' }],
    ['failed', 400_104, { action: 'Allowed', disposition: 'Allowed', status: 'Failure' }],
  ] as const)('describes an attempt that was %s as type %i', (decision, type_uid, words) => {
    const event = ocsfNetworkActivity('box', AT, { ...ATTEMPT, decision });
    expect(ocsfProblems(event)).toEqual([]);
    expect(event).toMatchObject({
      type_uid,
      ...words,
      time: AT.getTime(),
      count: 3,
      status_detail: 'preset npm',
      src_endpoint: { instance_uid: 'box' },
      dst_endpoint: { hostname: 'registry.npmjs.org', port: 443 },
      traffic: { bytes: 2_100, bytes_in: 2_000, bytes_out: 100 },
    });
  });

  test.each(['203.0.113.9', '2001:db8::1'])('names the address %s as an address', (host) => {
    const event = ocsfNetworkActivity('box', AT, { ...ATTEMPT, host });
    expect(ocsfProblems(event)).toEqual([]);
    expect(event.dst_endpoint).toEqual({ ip: host, port: 443 });
  });
});
