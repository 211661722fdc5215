import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { ocsfNetworkActivity } from '#core/network/ocsf-network-activity.ts';
import type { NetworkAttempt } from '#core/network/network.ts';

/** The fields of class 4001 in OCSF 1.3 with the profile Security Control, no others. */
const NetworkActivity = z.strictObject({
  metadata: z.strictObject({
    version: z.literal('1.3.0'),
    profiles: z.tuple([z.literal('security_control')]),
    product: z.strictObject({ name: z.string(), vendor_name: z.string() }),
  }),
  category_uid: z.literal(4),
  category_name: z.literal('Network Activity'),
  class_uid: z.literal(4001),
  class_name: z.literal('Network Activity'),
  activity_id: z.int().min(0).max(7),
  activity_name: z.string(),
  type_uid: z.int(),
  severity_id: z.literal(1),
  severity: z.literal('Informational'),
  time: z.int(),
  duration: z.int().min(0),
  count: z.int().min(1),
  action_id: z.union([z.literal(1), z.literal(2)]),
  action: z.enum(['Allowed', 'Denied']),
  disposition_id: z.union([z.literal(1), z.literal(2)]),
  disposition: z.enum(['Allowed', 'Blocked']),
  status_id: z.union([z.literal(1), z.literal(2)]),
  status: z.enum(['Success', 'Failure']),
  status_detail: z.string(),
  firewall_rule: z.strictObject({ name: z.string() }),
  src_endpoint: z.strictObject({ instance_uid: z.string() }),
  dst_endpoint: z.union([
    z.strictObject({ hostname: z.string(), port: z.int() }),
    z.strictObject({ ip: z.union([z.ipv4(), z.ipv6()]), port: z.int() }),
  ]),
  connection_info: z.strictObject({
    direction_id: z.literal(2),
    direction: z.literal('Outbound'),
    protocol_name: z.literal('tcp'),
    protocol_num: z.literal(6),
  }),
  traffic: z.strictObject({ bytes: z.int(), bytes_in: z.int(), bytes_out: z.int() }),
});

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

test.each([
  ['allowed', 400_102, { action: 'Allowed', disposition: 'Allowed', status: 'Success' }],
  ['blocked', 400_105, { action: 'Denied', disposition: 'Blocked', status: 'Failure' }],
  ['failed', 400_104, { action: 'Allowed', disposition: 'Allowed', status: 'Failure' }],
] as const)('describes an attempt that was %s as type %i', (decision, type_uid, words) => {
  const event = ocsfNetworkActivity('box', AT, { ...ATTEMPT, decision });
  expect(NetworkActivity.parse(event)).toMatchObject({
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
  const event = NetworkActivity.parse(ocsfNetworkActivity('box', AT, { ...ATTEMPT, host }));
  expect(event.dst_endpoint).toEqual({ ip: host, port: 443 });
});
