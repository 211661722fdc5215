/** Asks in Slack about each approval, and decides it by the button that is pressed. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { onEvent, send, serve, setting } from './receive.ts';

const button = (text: string, action_id: string, value: string) => ({
  type: 'button',
  text: { type: 'plain_text', text },
  action_id,
  value,
});

const ask = onEvent(async ({ type, data: { details } }) => {
  if (type !== 'approval.requested') return;
  const text = String(details['message']);
  const value = `${details['run_id']} ${details['request_id']}`;
  const elements = [button('Approve', 'approve', value), button('Deny', 'deny', value)];
  await send(setting('SLACK_WEBHOOK_URL'), {
    text,
    blocks: [
      { type: 'section', text: { type: 'plain_text', text } },
      { type: 'actions', elements },
    ],
  });
});

/** https://docs.slack.dev/authentication/verifying-requests-from-slack */
function verifySlack(body: string, { headers }: IncomingMessage): void {
  const at = String(headers['x-slack-request-timestamp']);
  const signature = createHmac('sha256', setting('SLACK_SIGNING_SECRET')).update(`v0:${at}:${body}`);
  const expected = Buffer.from(`v0=${signature.digest('hex')}`);
  const given = Buffer.from(String(headers['x-slack-signature']));
  const isOld = !(Math.abs(Date.now() / 1_000 - Number(at)) < 300);
  if (isOld || given.length !== expected.length || !timingSafeEqual(given, expected))
    throw new Error('The signature of Slack is not valid.');
}

async function decide(body: string, request: IncomingMessage): Promise<void> {
  verifySlack(body, request);
  const { actions } = JSON.parse(new URLSearchParams(body).get('payload') ?? '') as {
    actions: { action_id: string; value: string }[];
  };
  for (const { action_id: decision, value } of actions) {
    const [run, request_id] = value.split(' ');
    const url = new URL(`/api/runs/${run}/tool-approvals`, setting('PORTHOLE_URL'));
    await send(url.href, { request_id, decision, scope: 'once' }, setting('PORTHOLE_API_KEY'));
  }
}

serve({ '/porthole': ask, '/slack': decide });
