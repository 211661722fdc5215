import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MAX_MESSAGES } from '#core/inbox/use-inbox.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { Porthole } from '../../client/index.ts';
import { readTimeline } from './support/approvals.ts';
import { execute } from './support/commands.ts';
import { ADA_ADMIN, ALICE, BOB, PEOPLE } from './support/people.ts';
import { type MadeRun, makeRun, outcome } from './support/runs.ts';

interface Message {
  readonly message_id: string;
  readonly text: string;
  readonly read_at: string | null;
  readonly [field: string]: unknown;
}

const PIN = {
  port: 3000,
  path: '/login',
  selector: '#save',
  role: 'button',
  name: 'Save',
  component: 'Form',
  file: 'src/form.tsx',
  line: 7,
  column: 3,
};
const PICTURE = { media_type: 'image/jpeg', width: 3, height: 2, data: 'AAEC' };

describe('the inbox of a run', () => {
  let porthole: TestHost;
  let sandboxId: string;
  beforeAll(async () => {
    porthole = await startTestHost(PEOPLE);
    ({ sandboxId } = await makeRun(porthole, ALICE));
  });
  afterAll(() => porthole.end());

  /** In one shared sandbox: a new one for each would be slow. */
  const begin = () => makeRun(porthole, ALICE, { sandbox_id: sandboxId });
  const post = (run: MadeRun, body: object, token = ALICE) =>
    porthole.call('POST', `/api/runs/${run.runId}/inbox`, { token, body });
  const list = async (run: MadeRun, token: string, query = '') =>
    (await porthole.call('GET', `/api/runs/${run.runId}/inbox${query}`, { token })).json<{
      messages: Message[];
    }>().messages;

  test('has a comment with its element for the agent, and the reply for the owner', async () => {
    const run = await begin();
    const posted = await post(run, { text: 'Too small\nfor a thumb', pin: PIN, picture: PICTURE });
    const comment = posted.json<Message>();
    expect([posted.status, comment]).toEqual([
      201,
      expect.objectContaining({ by: 'owner', reply_to: null, pin: PIN, has_picture: true, read_at: null }),
    ]);
    expect(await list(run, run.agentToken, '?unread=true')).toEqual([comment]);
    expect(await list(run, ALICE, '?unread=true')).toEqual([]);
    const path = `/api/runs/${run.runId}/inbox/${comment.message_id}`;
    expect((await porthole.call('GET', path, { token: run.agentToken })).json()).toEqual({
      ...comment,
      picture: PICTURE,
    });
    const reply = await porthole.call('POST', `${path}/replies`, {
      token: run.agentToken,
      body: { text: 'Done' },
    });
    expect(reply.json()).toMatchObject({ by: 'agent', reply_to: comment.message_id, pin: null });
    const read = { messages: [comment.message_id] };
    const marked = await porthole.call('POST', `/api/runs/${run.runId}/inbox/read`, {
      token: run.agentToken,
      body: read,
    });
    expect(marked.status).toBe(204);
    expect(await list(run, run.agentToken, '?unread=true')).toEqual([]);
    expect((await list(run, ALICE)).map(({ text, read_at }) => [text, read_at !== null])).toEqual([
      ['Too small\nfor a thumb', true],
      ['Done', false],
    ]);
    const events = await readTimeline(porthole, run.runId, ALICE);
    expect(
      events.filter(({ type }) => type.startsWith('inbox.')).map(({ type, data }) => [type, data]),
    ).toEqual([
      ['inbox.posted', { message: comment.message_id, by: 'owner', target_port: 3000 }],
      ['inbox.replied', { message: reply.json()['message_id'], by: 'agent', reply_to: comment.message_id }],
    ]);
  });

  test('is for the owner, an admin and the agent of the run', async () => {
    const [run, other] = [await begin(), await begin()];
    expect(outcome(await post(run, { text: 'a' }, BOB))).toEqual([403, 'foreign_run']);
    expect(outcome(await post(run, { text: 'a' }, run.agentToken))).toEqual([403, 'forbidden']);
    expect((await post(run, { text: 'from an admin' }, ADA_ADMIN)).json()).toMatchObject({ by: 'admin' });
    for (const token of [BOB, other.agentToken]) {
      const refused = await porthole.call('GET', `/api/runs/${run.runId}/inbox`, { token });
      expect(outcome(refused)).toEqual([403, 'foreign_run']);
    }
  });

  test('shows text as it reads: no control characters and no bidirectional overrides', async () => {
    const run = await begin();
    const text = 'a\u0000b\u202Ec\r\n\td';
    expect((await post(run, { text })).json()).toMatchObject({ text: 'a b c\n\td' });
  });

  test.each([
    [{ text: '' }, 'text'],
    [{ text: 'x'.repeat(2_001) }, 'at most 2000 characters'],
    [{ text: 'a', pin: { ...PIN, path: '//evil.test' } }, 'must be a path on the preview'],
    [{ text: 'a', pin: { port: 3000, path: '/' } }, 'pin.selector'],
    [{ text: 'a', picture: { ...PICTURE, data: '<svg>' } }, 'picture.data'],
    [{ text: 'a', picture: { ...PICTURE, media_type: 'image/svg+xml' } }, 'picture.media_type'],
  ])('refuses a comment that is not one: %#', async (body, names) => {
    const refused = await post(await begin(), body);
    expect(outcome(refused)).toEqual([400, 'invalid_request']);
    expect(refused.json()['error']).toContain(names);
  });

  test('is bounded, and ends with its run', async () => {
    const run = await begin();
    const { records } = porthole.host.services;
    for (let at = 0; at < MAX_MESSAGES; at += 1) {
      expect((await post(run, { text: `${at}` })).status).toBe(201);
    }
    expect(outcome(await post(run, { text: 'one more' }))).toEqual([429, 'too_many_messages']);
    expect(await list(run, ALICE)).toHaveLength(MAX_MESSAGES);
    const ended = await begin();
    await records.runs.complete(ended.runId, new Date());
    expect(outcome(await post(ended, { text: 'a' }))).toEqual([409, 'run_ended']);
    const missing = await porthole.call('POST', `/api/runs/${run.runId}/inbox/msg_none/replies`, {
      token: ALICE,
      body: { text: 'a' },
    });
    expect(outcome(missing)).toEqual([404, 'message_not_found']);
  });

  test('is read and answered over MCP', async () => {
    const run = await begin();
    const { message_id } = (
      await post(run, { text: 'Too small', pin: PIN, picture: PICTURE })
    ).json<Message>();
    const client = new Client({ name: 'tests', version: '1.0.0' });
    const url = new URL('/mcp', porthole.host.url);
    const headers = { authorization: `Bearer ${run.agentToken}` };
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
    const use = async (name: string, args: Record<string, unknown>) =>
      (await client.callTool({ name, arguments: args })).content as { type: string; text?: string }[];
    try {
      const [text] = await use('read_inbox', {});
      expect(text?.text).toBe(
        `${message_id} from the owner (with a picture):\nToo small\n` +
          'At: port 3000 /login, button "Save", #save, <Form>, src/form.tsx:7:3',
      );
      expect((await use('read_inbox', {}))[0]?.text).toBe('Nothing new in the inbox.');
      expect((await use('read_inbox', { message_id }))[1]).toEqual({
        type: 'image',
        mimeType: 'image/jpeg',
        data: 'AAEC',
      });
      await use('reply_inbox', { message_id, text: 'It is larger.' });
    } finally {
      await client.close();
    }
    const [, reply] = await list(run, ALICE);
    expect(reply).toMatchObject({ by: 'agent', text: 'It is larger.' });
  });

  test('is read and answered in the sandbox, and by the client', async () => {
    const run = await begin();
    const owner = new Porthole({ url: porthole.host.url, apiKey: ALICE });
    const { inbox } = await owner.runs.get(run.runId);
    const { message_id } = await inbox.post('Too small', {
      pin: { port: 3000, path: '/', selector: '#save' },
    });
    const inside = async (argv: string[]) => {
      const { exitCode, stdout, stderr } = await execute(porthole, run.sandboxId, argv, { token: ALICE });
      return [exitCode, stdout.toString(), stderr.toString()];
    };
    expect(await inside(['porthole', 'inbox'])).toEqual([
      0,
      `${message_id} from the owner\nToo small\nat port 3000 /, #save\n`,
      '',
    ]);
    expect(await inside(['porthole', 'inbox'])).toEqual([0, 'Nothing new.\n', '']);
    expect(await inside(['porthole', 'inbox', '--reply', message_id, 'It is larger.'])).toEqual([0, '', '']);
    const replies = await inbox.list({ unread: true });
    expect(replies.map(({ text, by }) => [text, by])).toEqual([['It is larger.', 'agent']]);
    await inbox.markRead(replies.map((reply) => reply.message_id));
    expect(await inbox.list({ unread: true })).toEqual([]);
    expect(await inside(['porthole', 'inbox', '--reply', 'msg_none', 'a'])).toEqual([
      1,
      '',
      expect.stringContaining('has no message "msg_none"'),
    ]);
    expect((await inside(['porthole', 'inbox', 'text']))[0]).toBe(2);
  });
});
