import { createPublicKey, verify } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { CloudEventSchema } from '#protocol/cloud-event.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import {
  type ReceivedMessage,
  startWebhookReceiver,
  type WebhookReceiver,
} from '#test/support/webhook-receiver.ts';

const KEYS = {
  'key-of-the-admin-0123': { user: 'root', org: 'acme', admin: true },
  'key-of-alice-01234567': { user: 'alice', org: 'acme' },
  'key-of-bob-0123456789': { user: 'bob', org: 'acme' },
};
const [ADMIN, ALICE, BOB] = Object.keys(KEYS) as [string, string, string];

let host: TestHost;
let receiver: WebhookReceiver;
beforeAll(async () => {
  host = await startTestHost({
    PORTHOLE_API_KEYS: JSON.stringify(KEYS),
    PORTHOLE_WEBHOOK_ALLOW: '127.0.0.0/8',
  });
});
afterAll(() => host.end());
beforeEach(async () => {
  receiver = await startWebhookReceiver();
});
afterEach(async () => {
  const all = await host.call('GET', '/v1/webhooks?all=true', { token: ADMIN });
  for (const { id } of all.json<{ webhooks: Made[] }>().webhooks) {
    await host.call('DELETE', `/v1/webhooks/${id}`, { token: ADMIN });
  }
  await receiver.close();
});

interface Made {
  readonly id: string;
  readonly secret: string;
  readonly public_keys: readonly string[];
}
interface Delivery {
  readonly id: string;
  readonly event_id: string;
  readonly type: string;
  readonly state: string;
  readonly attempts: number;
  readonly error: string | null;
}

const create = async (body: object = {}, token = ALICE): Promise<Made> => {
  const hook = { url: receiver.url, events: ['key.*'], ...body };
  const made = await host.call('POST', '/v1/webhooks', { token, body: hook });
  expect([made.status, made.text]).toEqual([201, expect.stringContaining('whk_')]);
  return made.json<Made>();
};
const makeKey = async (token = ALICE) => {
  const made = await host.call('POST', '/api/keys', { token, body: { name: 'CI', scope: 'read' } });
  return made.json<{ key_id: string; key: string }>();
};
const revokeKey = (id: string, token = ALICE) => host.call('DELETE', `/api/keys/${id}`, { token });
const read = async (id: string, token = ALICE) =>
  (await host.call('GET', `/v1/webhooks/${id}`, { token })).json();
const deliveriesOf = async (id: string, token = ALICE) =>
  (await host.call('GET', `/v1/webhooks/${id}/deliveries`, { token })).json<{ deliveries: Delivery[] }>()
    .deliveries;
/** A state that the host reaches by itself. */
async function eventually<T>(get: () => Promise<T>, isReached: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await get();
    if (isReached(value)) return value;
    await host.host.services.clock.until(new Date(Date.now() + 20));
  }
}
const verified = (secret: string, { body, headers }: ReceivedMessage) =>
  CloudEventSchema.parse(new Webhook(secret).verify(body, headers));

/** By the specification: the library has no Ed25519. */
function isSignedBy(publicKey: string, { body, headers }: ReceivedMessage): boolean {
  const x = Buffer.from(publicKey.replace('whpk_', ''), 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  return (headers['webhook-signature'] ?? '')
    .split(' ')
    .filter((each) => each.startsWith('v1a,'))
    .some((each) => verify(null, Buffer.from(content), key, Buffer.from(each.slice(4), 'base64')));
}

describe('webhooks of a host', () => {
  test('post what happens to what is yours as signed CloudEvents, in the order of each subject', async () => {
    const { id, secret } = await create();
    const keys = [await makeKey(), await makeKey()];
    await makeKey(BOB);
    for (const { key_id: key } of keys) await revokeKey(key);
    const messages = await receiver.until(4);
    const events = messages.map((message) => verified(secret, message));
    for (const { key_id: key } of keys) {
      const types = events.filter(({ subject }) => subject === `key/${key}`).map(({ type }) => type);
      expect(types).toEqual(['key.created', 'key.revoked']);
    }
    expect(events[0]).toMatchObject({
      specversion: '1.0',
      source: expect.stringMatching(/^urn:porthole:/),
      datacontenttype: 'application/json',
      data: {
        result: 'ok',
        actor: { kind: 'person', id: 'alice' },
        owner: { user: 'alice', org: 'acme' },
        details: { name: 'CI' },
      },
    });
    expect(messages.map(({ headers }) => headers['webhook-id'])).toEqual(events.map((event) => event.id));
    expect(JSON.stringify(messages)).not.toContain(keys[0]?.key);
    expect(JSON.stringify(messages)).not.toContain('source_ip');
    const delivered = await eventually(
      () => deliveriesOf(id),
      (all) => all.every(({ state }) => state === 'delivered'),
    );
    expect(delivered.map(({ attempts, error }) => [attempts, error])).toEqual(
      Array.from({ length: 4 }, () => [1, null]),
    );
    expect(JSON.stringify(await read(id))).not.toContain(secret);
    expect(host.logged.join('')).not.toContain(secret);
    expect(host.logged.join('')).not.toContain('/hook');
  });

  test('sign with Ed25519 by choice', async () => {
    const {
      secret,
      public_keys: [publicKey = ''],
    } = await create({ signature: 'ed25519' });
    expect([secret, publicKey]).toEqual([null, expect.stringMatching(/^whpk_[\w+/=]{44}$/)]);
    await makeKey();
    const [message] = await receiver.until(1);
    if (message === undefined) throw new Error('nothing was received');
    expect(isSignedBy(publicKey, message)).toBe(true);
    expect(isSignedBy(publicKey, { ...message, body: `${message.body} ` })).toBe(false);
  });

  test.each(['hmac', 'ed25519'])(
    'sign with the old and the new secret after a rotation: %s',
    async (signature) => {
      const before = await create({ signature });
      const answer = await host.call('POST', `/v1/webhooks/${before.id}/rotate`, { token: ALICE });
      const after = answer.json<Made>();
      await makeKey();
      const [message] = await receiver.until(1);
      if (message === undefined) throw new Error('nothing was received');
      if (signature === 'ed25519') {
        expect(after.public_keys).toHaveLength(2);
        for (const key of [before, after].flatMap((each) => each.public_keys)) {
          expect(isSignedBy(key, message)).toBe(true);
        }
        return;
      }
      expect(after.secret).not.toBe(before.secret);
      for (const { secret } of [before, after]) expect(verified(secret, message).type).toBe('key.created');
    },
  );

  test('send a test event to this webhook only', async () => {
    const { id, secret } = await create({ events: ['run.created'] });
    await create({ events: ['*'] }, ADMIN);
    expect((await host.call('POST', `/v1/webhooks/${id}/test`, { token: ALICE })).status).toBe(202);
    const [message, ...more] = await receiver.until(1, ({ event }) => event.type === 'webhook.test');
    if (message === undefined) throw new Error('nothing was received');
    expect([verified(secret, message).subject, more]).toEqual([`webhook/${id}`, []]);
  });

  test('try again with the same id, at once when asked to', async () => {
    receiver.answer((response) => response.writeHead(500).end());
    const { id } = await create();
    await makeKey();
    const [failed] = await eventually(
      () => deliveriesOf(id),
      ([each]) => each?.error !== null && each !== undefined,
    );
    expect(failed).toMatchObject({ state: 'waiting', attempts: 1, error: 'The receiver answered 500' });
    expect(await read(id)).toMatchObject({ state: 'active', failing_since: expect.any(String) });
    receiver.answer((response) => response.writeHead(200).end());
    const path = `/v1/webhooks/${id}/deliveries/${failed?.id}/redeliver`;
    expect((await host.call('POST', path, { token: ALICE })).status).toBe(202);
    const messages = await receiver.until(2);
    expect(messages.map(({ headers }) => headers['webhook-id'])).toEqual([
      failed?.event_id,
      failed?.event_id,
    ]);
    await eventually(
      () => read(id),
      (hook) => hook['failing_since'] === null,
    );
    await host.call('POST', path, { token: ALICE });
    expect(await receiver.until(3)).toHaveLength(3);
  });

  test('end with an answer of 410, with a notice, until they are enabled', async () => {
    const { id } = await create();
    await create({ events: ['webhook.disabled'] });
    receiver.answer((response, { event }) =>
      response.writeHead(event.type === 'webhook.disabled' ? 204 : 410).end(),
    );
    await makeKey();
    const [notice] = await receiver.until(1, ({ event }) => event.type === 'webhook.disabled');
    expect(notice?.event).toMatchObject({
      subject: `webhook/${id}`,
      data: { actor: { kind: 'porthole' }, details: { why: 'gone', origin: new URL(receiver.url).origin } },
    });
    expect(await read(id)).toMatchObject({ state: 'disabled', disabled_reason: 'gone' });
    for (const path of ['test', `deliveries/${(await deliveriesOf(id))[0]?.id}/redeliver`]) {
      const answer = await host.call('POST', `/v1/webhooks/${id}/${path}`, { token: ALICE });
      expect([answer.status, answer.json()['code']]).toEqual([409, 'webhook_disabled']);
    }
    receiver.answer((response) => response.writeHead(204).end());
    const enabled = await host.call('POST', `/v1/webhooks/${id}/enable`, { token: ALICE });
    expect(enabled.json()).toMatchObject({ state: 'active', disabled_reason: null });
    const { key_id: key } = await makeKey();
    await receiver.until(1, ({ event }) => event.subject === `key/${key}`);
  });

  test('do not follow a redirect to a metadata address', async () => {
    receiver.answer((response) =>
      response.writeHead(307, { location: 'http://169.254.169.254/latest/meta-data' }).end(),
    );
    const { id } = await create();
    await makeKey();
    const [failed] = await eventually(
      () => deliveriesOf(id),
      ([each]) => each?.error != null,
    );
    expect(failed?.error).toBe('The receiver redirects (307), which is not followed');
  });

  test('of one owner that hang delay no other owner', async () => {
    const hanging = await startWebhookReceiver();
    hanging.answer(() => {});
    for (let n = 0; n < 10; n += 1) await create({ url: hanging.url, scope: 'installation' }, ADMIN);
    await create({}, BOB);
    await makeKey(BOB);
    await receiver.until(1);
    for (let n = 0; n < 20; n += 1) await makeKey(BOB);
    const messages = await receiver.until(21);
    const slowest = Math.max(...messages.map(({ at, event }) => at - Date.parse(event.time)));
    expect(slowest).toBeLessThan(2_000);
    expect(hanging.received.length).toBeGreaterThan(0);
    await hanging.close();
  });

  test('are for people: each has their own, and admins may have wider ones', async () => {
    const { id } = await create();
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/enable'],
      ['POST', '/test'],
      ['POST', '/rotate'],
      ['GET', '/deliveries'],
      ['POST', '/deliveries/whd_1/redeliver'],
    ] as const) {
      const answer = await host.call(method, `/v1/webhooks/${id}${path}`, { token: BOB });
      expect([answer.status, answer.json()['code']]).toEqual([404, 'webhook_not_found']);
    }
    for (const scope of ['org', 'installation']) {
      const body = { url: receiver.url, events: ['*'], scope };
      expect((await host.call('POST', '/v1/webhooks', { token: BOB, body })).status).toBe(403);
      await create({ scope }, ADMIN);
    }
    expect((await host.call('GET', '/v1/webhooks?all=true', { token: BOB })).status).toBe(403);
    const run = await host.call('POST', '/api/runs', { token: ALICE, body: {} });
    const { agent_token: agent } = run.json<{ agent_token: string }>();
    expect((await host.call('GET', '/v1/webhooks', { token: agent })).status).toBe(403);
    const { key_id: key } = await makeKey(BOB);
    expect(await receiver.until(2, ({ event }) => event.subject === `key/${key}`)).toHaveLength(2);
  });

  test.each([
    ['a metadata address', { url: 'http://169.254.169.254/' }, 'metadata address'],
    ['a private address', { url: 'http://10.0.0.1/' }, 'private address'],
    ['another protocol', { url: 'ftp://example.com/' }, 'http'],
    ['a password', { url: 'https://a:b@example.com/' }, 'password'],
    ['what is no URL', { url: 'nonsense' }, 'must be a URL'],
    ['a long URL', { url: `https://example.com/${'a'.repeat(2_000)}` }, '2000'],
    ['no event', { events: [] }, 'must name an event'],
    ['an unknown event', { events: ['sandbox.exploded'] }, 'events'],
    ['many events', { events: Array.from({ length: 51 }, () => '*') }, '50'],
    ['an unknown scope', { scope: 'world' }, 'scope'],
    ['an unknown signature', { signature: 'md5' }, 'signature'],
    ['an unknown field', { more: 1 }, 'more'],
  ])('refuse %s', async (_, rest, why) => {
    const body = { url: 'https://example.com/', events: ['*'], ...rest };
    const answer = await host.call('POST', '/v1/webhooks', { token: ALICE, body });
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(why)]);
  });

  test('are 20 of one person at most', async () => {
    const body = { url: 'https://example.com/', events: ['webhook.test'] };
    const statuses: number[] = [];
    for (let n = 0; n < 21; n += 1) {
      statuses.push((await host.call('POST', '/v1/webhooks', { token: BOB, body })).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 201), 429]);
  });
});

test('calls receivers on the machine of its only user, and no other private address', async () => {
  const own = await startTestHost();
  try {
    const hookTo = (url: string) =>
      own.call('POST', '/v1/webhooks', { body: { url, events: ['sandbox.*'] } });
    const local = receiver.url.replace('127.0.0.1', 'localhost');
    expect([(await hookTo(local)).status, (await hookTo('http://169.254.169.254/')).status]).toEqual([
      201, 400,
    ]);
    await own.call('POST', '/v1/sandbox', { body: {} });
    expect((await receiver.until(1))[0]?.event.type).toBe('sandbox.created');
  } finally {
    await own.end();
  }
});
