import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { NO_PROXIES } from '#adapters/egress/machine-proxies.ts';
import { webhookSender } from '#adapters/egress/webhook-sender.ts';
import type { WebhookSender } from '#core/webhooks/deliver-webhooks.ts';
import { startWebhookReceiver, type WebhookReceiver } from '#test/support/webhook-receiver.ts';

let addresses: string[];
let sender: WebhookSender;
let receiver: WebhookReceiver;

const send = (url: string, signal = AbortSignal.timeout(10_000)) =>
  sender.send({ url, headers: { 'webhook-id': 'evt_1' }, body: '{}' }, signal);

beforeEach(async () => {
  addresses = ['127.0.0.2'];
  receiver = await startWebhookReceiver('127.0.0.2');
  sender = webhookSender({
    allow: { hosts: ['inside.test'], ranges: ['127.0.0.2/32'] },
    proxies: NO_PROXIES,
    userAgent: 'Porthole/test',
    resolve: () => Promise.resolve(addresses),
  });
});
afterEach(async () => {
  sender.close();
  await receiver.close();
});

describe('a sender of webhooks', () => {
  test('posts the message, and uses its connection again', async () => {
    const url = `http://hooks.test:${receiver.port}/hook?a=b`;
    expect([await send(url), await send(url)]).toEqual([{ status: 204 }, { status: 204 }]);
    const [message] = receiver.received;
    expect([message?.path, message?.body]).toEqual(['/hook?a=b', '{}']);
    expect(message?.headers).toMatchObject({
      'content-type': 'application/cloudevents+json; charset=utf-8',
      'user-agent': 'Porthole/test',
      'webhook-id': 'evt_1',
      host: `hooks.test:${receiver.port}`,
    });
  });

  test.each([
    ['127.0.0.1', 'reserved address'],
    ['::1', 'reserved address'],
    ['0.0.0.0', 'reserved address'],
    ['::ffff:127.0.0.1', 'reserved address'],
    ['169.254.169.254', 'metadata address'],
    ['fd00:ec2::254', 'metadata address'],
    ['10.0.0.1', 'private address'],
    ['192.168.1.1', 'private address'],
    ['fc00::1', 'private address'],
  ])('refuses a name that resolves to %s now', async (address, kind) => {
    const url = `http://hooks.test:${receiver.port}/`;
    receiver.answer((response) => response.writeHead(204, { connection: 'close' }).end());
    expect(await send(url)).toEqual({ status: 204 });
    addresses = [address];
    expect(await send(url)).toEqual({ error: `hooks.test is a ${kind}` });
    expect(receiver.received).toHaveLength(1);
  });

  test('lets a permitted name be private, but never this machine or a metadata address', async () => {
    for (const address of ['127.0.0.1', '169.254.169.254']) {
      addresses = [address];
      expect(await send('http://inside.test:9/')).toEqual({
        error: expect.stringContaining(`inside.test is a `),
      });
    }
    addresses = ['127.0.0.2'];
    expect(await send(`http://inside.test:${receiver.port}/`)).toEqual({ status: 204 });
  });

  test.each([
    ['http://169.254.169.254/latest/meta-data', 'metadata address'],
    ['http://127.0.0.1/', 'reserved address'],
    ['http://0x7f.1/', 'reserved address'],
    ['http://2130706433/', 'reserved address'],
    ['http://[::1]/', 'reserved address'],
    ['http://10.1.2.3/', 'private address'],
    ['ftp://example.com/', 'must begin with'],
    ['file:///etc/passwd', 'must begin with'],
    ['https://user:password@example.com/', 'user name or a password'],
  ])('says why %s is refused', (url, why) => {
    expect(sender.refusal(new URL(url))).toContain(why);
  });

  test.each(['https://example.com/hook', 'http://127.0.0.2:1/'])('permits %s', (url) => {
    expect(sender.refusal(new URL(url))).toBeUndefined();
  });

  test('does not follow a redirect', async () => {
    receiver.answer((response) =>
      response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end(),
    );
    expect(await send(receiver.url)).toEqual({ status: 302 });
    expect(receiver.received).toHaveLength(1);
  });

  test('reads no more than the beginning of an answer', async () => {
    let sent = 0;
    const closed = new Promise<void>((resolve) => {
      receiver.answer((response) => {
        response.once('close', resolve);
        const write = (): void => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536))) sent += 65_536;
          response.once('drain', write);
        };
        write();
      });
    });
    expect(await send(receiver.url)).toEqual({ status: 200 });
    await closed;
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });

  test('ends with the signal, and says why there is no answer', async () => {
    receiver.answer(() => {});
    const aborting = new AbortController();
    const sending = send(receiver.url, aborting.signal);
    await receiver.until(1);
    aborting.abort();
    expect(await sending).toEqual({ error: 'The receiver did not answer (ABORT_ERR)' });
    addresses = [];
    expect(await send('http://nowhere.test/')).toEqual({ error: expect.stringContaining('nowhere.test') });
    const { port } = receiver;
    await receiver.close();
    expect(await send(`http://127.0.0.2:${port}/`)).toEqual({
      error: expect.stringContaining('ECONNREFUSED'),
    });
    receiver = await startWebhookReceiver('127.0.0.2');
  });
});
