/** The programs of `examples/webhooks`, between a host and stand-ins of the services they call. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { approvalsAsked, askForPreview, readTimeline } from '#test/host/support/approvals.ts';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { makeRun, startPreview } from '#test/host/support/runs.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { startWebhookReceiver, type WebhookReceiver } from '#test/support/webhook-receiver.ts';

const EXAMPLES = join(import.meta.dirname, '../../examples/webhooks');
const SLACK_SECRET = 'the-signing-secret-of-slack';

let host: TestHost;
/** The service that a recipe posts to. */
let service: WebhookReceiver;
const programs: ChildProcess[] = [];
beforeEach(async () => {
  host = await startTestHost({ ...PEOPLE, PORTHOLE_WEBHOOK_ALLOW: '127.0.0.1/32' });
  service = await startWebhookReceiver();
});
afterEach(async () => {
  for (const program of programs.splice(0)) {
    program.kill();
    if (program.exitCode === null && program.signalCode === null) await once(program, 'exit');
  }
  await service.close();
  await host.end();
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Creates a webhook and starts its recipe; returns the recipe's URL. */
async function start(
  recipe: string,
  events: readonly string[],
  environment: Readonly<Record<string, string>>,
) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const hook = await host.call('POST', '/v1/webhooks', {
    token: ALICE,
    body: { url: `${url}/porthole`, events },
  });
  const program = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', join(EXAMPLES, recipe)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      PORT: String(port),
      PORTHOLE_URL: host.host.url,
      PORTHOLE_API_KEY: ALICE,
      WEBHOOK_SECRET: hook.json<{ secret: string }>().secret,
      ...environment,
    },
  });
  programs.push(program);
  await once(createInterface({ input: program.stdout as NodeJS.ReadableStream }), 'line');
  return url;
}

const postToSlackApp = (url: string, body: string, secret: string) => {
  const at = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac('sha256', secret).update(`v0:${at}:${body}`).digest('hex');
  const headers = { 'x-slack-request-timestamp': at, 'x-slack-signature': `v0=${signature}` };
  return fetch(`${url}/slack`, { method: 'POST', headers, body });
};

test('a button in Slack decides an approval, and a forged press does not', async () => {
  const url = await start('slack-approvals.ts', ['approval.*'], {
    SLACK_WEBHOOK_URL: service.url,
    SLACK_SIGNING_SECRET: SLACK_SECRET,
  });
  const run = await makeRun(host, ALICE);
  const asking = askForPreview(host, run.runId, run.agentToken);
  await approvalsAsked(host, run.runId, { token: ALICE });
  const [message] = await service.until(1);
  const { text, blocks } = JSON.parse(message?.body ?? '') as {
    text: string;
    blocks: { elements?: { action_id: string; value: string }[] }[];
  };
  expect(text).toContain('Open a live preview of port 3000?');
  const press = blocks[1]?.elements?.find(({ action_id }) => action_id === 'approve');
  const body = new URLSearchParams({ payload: JSON.stringify({ actions: [press] }) }).toString();
  expect((await postToSlackApp(url, body, 'another secret')).status).toBe(400);
  const decided = async () =>
    (await readTimeline(host, run.runId, ALICE)).filter(({ type }) => type === 'tool.approved').length;
  expect(await decided()).toBe(0);
  expect((await postToSlackApp(url, body, SLACK_SECRET)).status).toBe(204);
  expect([(await asking).status, await decided()]).toEqual([200, 1]);
});

test('a pull request gets the link of a preview', async () => {
  await start('github-comments.ts', ['preview.opened'], {
    GITHUB_API_URL: `http://127.0.0.1:${service.port}`,
    GITHUB_TOKEN: 'token-of-github',
  });
  const run = await makeRun(host, ALICE, { title: 'acme/shop#12' });
  const preview = await startPreview(host, run.runId, 3000, ALICE);
  const [comment] = await service.until(1);
  expect([comment?.path, comment?.headers['authorization']]).toEqual([
    '/repos/acme/shop/issues/12/comments',
    'Bearer token-of-github',
  ]);
  expect(JSON.parse(comment?.body ?? '')).toEqual({ body: `Preview: ${preview.preview_url}` });
});

test('PagerDuty gets an incident for a webhook that was disabled', async () => {
  const gone = await startWebhookReceiver();
  gone.answer((response) => response.writeHead(410).end());
  await start('pagerduty-alerts.ts', ['webhook.disabled'], {
    PAGERDUTY_URL: service.url,
    PAGERDUTY_ROUTING_KEY: 'routing-key',
  });
  const body = { url: gone.url, events: ['webhook.test'] };
  const made = await host.call('POST', '/v1/webhooks', { token: ALICE, body });
  const { id } = made.json<{ id: string }>();
  await host.call('POST', `/v1/webhooks/${id}/test`, { token: ALICE });
  const [incident] = await service.until(1);
  expect(JSON.parse(incident?.body ?? '')).toMatchObject({
    routing_key: 'routing-key',
    event_action: 'trigger',
    dedup_key: expect.stringMatching(/^evt_/),
    payload: { summary: `webhook.disabled webhook/${id}`, custom_details: { why: 'gone' } },
  });
  await gone.close();
});
