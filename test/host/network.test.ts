/**
 * The network of sandboxes through the API, with a proxy of this test in place of the machine's
 * internet access.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { missingFor } from '#test/adapters/local/machine.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { type Internet, startInternet } from '#test/support/internet.ts';
import { suite } from '#test/support/suite.ts';
import { execute } from './support/commands.ts';
import { ALICE, BOB, PEOPLE } from './support/people.ts';
import { makeRun, type MadeRun } from './support/runs.ts';

interface Waiting {
  readonly approvals: readonly {
    readonly request_id: string;
    readonly tool: string;
    readonly message: string;
  }[];
}

suite('the network of a sandbox', missingFor('bubblewrap'), () => {
  let porthole: TestHost;
  let run: MadeRun;
  let internet: Internet;

  beforeAll(async () => {
    internet = await startInternet();
    const { proxy } = internet;
    porthole = await startTestHost({ ...PEOPLE, https_proxy: proxy, http_proxy: proxy });
    run = await makeRun(porthole, ALICE);
  }, 60_000);
  afterAll(async () => {
    await porthole.end();
    internet.close();
  });

  const patch = (body: object, token = ALICE) =>
    porthole.call('PATCH', `/v1/sandbox/${run.sandboxId}`, { token, body });
  const curl = (...args: string[]) =>
    execute(porthole, run.sandboxId, ['curl', '-sS', '-m', '30', ...args], { token: ALICE });
  const decide = async (decision: object) => {
    let waiting: Waiting['approvals'] = [];
    while (waiting.length === 0) {
      ({ approvals: waiting } = (
        await porthole.call('GET', '/api/approvals', { token: ALICE })
      ).json<Waiting>());
    }
    const [first] = waiting;
    const answer = await porthole.call('POST', `/api/runs/${run.runId}/tool-approvals`, {
      token: ALICE,
      body: { request_id: first?.request_id, ...decision },
    });
    expect(answer.status).toBe(200);
    return first;
  };

  test('is packages by default, and goes through the machine’s own proxy', async () => {
    const { stdout } = await curl('-p', 'http://deb.debian.org/');
    expect(stdout.toString()).toBe('from afar\n');
    expect(internet.tunnels).toEqual(['deb.debian.org:80']);
  });

  test('has the bytes that a sandbox sends in its usage', async () => {
    const sent = async (): Promise<number> => {
      await porthole.host.lifecycle();
      const path = `/v1/usage?by=sandbox&sandbox=${run.sandboxId}`;
      const answer = await porthole.call('GET', path, { token: ALICE });
      return answer.json<{ usage: { egress_bytes: number }[] }>().usage[0]?.egress_bytes ?? 0;
    };
    const before = await sent();
    const script = 'head -c 300000 /dev/zero | curl -sS -p -m 30 --data-binary @- http://deb.debian.org/';
    await execute(porthole, run.sandboxId, ['sh', '-c', script], { token: ALICE });
    // A connection counts once it has ended.
    while ((await sent()) < before + 300_000);
    // With the headers of the request.
    expect(await sent()).toBeLessThan(before + 301_000);
  });

  test.each([
    [{ allow: ['10.0.0.1'] }, 400, '"10.0.0.1": an address'],
    [{ allow: ['*'] }, 400, '"*": a * replaces'],
    [{ allow: ['*.co.uk', 'a.example.com'] }, 400, '"*.co.uk": a public suffix'],
    [{ network: 'internet' }, 400, 'network'],
  ])('refuses %j with %i, when it is created and when it is changed', async (body, status, words) => {
    for (const answer of [
      await porthole.call('POST', '/v1/sandbox', { token: ALICE, body }),
      await patch(body),
    ]) {
      expect(answer.status).toBe(status);
      expect(answer.json<{ error: string }>().error).toContain(words);
    }
  });

  test('is changed by its owner alone, at once', async () => {
    expect((await patch({ network: 'off' }, BOB)).status).toBe(404);
    expect((await patch({ network: 'off' }, run.agentToken)).status).toBe(403);
    const changed = await patch({
      network: 'off',
      allow: ['API.example.com:8443', '*.example.org'],
      deny: [],
    });
    expect(changed.json()).toEqual({
      network: 'off',
      allow: ['api.example.com:8443', '*.example.org'],
      deny: [],
      ask: true,
      secrets: [],
    });
    expect((await curl('http://deb.debian.org/')).stdout.toString()).toContain('is blocked (network: off)');
    expect((await patch({ network: 'packages', allow: [] })).status).toBe(200);
    expect((await curl('http://deb.debian.org/')).stdout.toString()).toBe('from afar\n');
  });

  test('asks the owner about another host while the command waits', async () => {
    const asking = curl('-p', 'http://api.example.test/');
    const asked = await decide({ decision: 'approve', scope: 'run' });
    expect(asked).toMatchObject({
      tool: 'network:api.example.test:80',
      message: expect.stringMatching(/^Allow `curl .*` to connect to api\.example\.test, port 80\?$/),
    });
    expect((await asking).stdout.toString()).toBe('from afar\n');
    // Approved for the run: no second question.
    expect((await curl('-p', 'http://api.example.test/')).stdout.toString()).toBe('from afar\n');
  });

  test('remembers never, and names what was blocked in the answer of the command', async () => {
    const asking = curl('https://evil.example.test/');
    await decide({ decision: 'deny', scope: 'always' });
    const { exitCode, events } = await asking;
    expect(exitCode).toBe(56);
    const exit = JSON.parse(events.find(({ event }) => event === 'exit')?.data ?? '') as object;
    expect(exit).toMatchObject({
      blocked: [
        { host: 'evil.example.test', port: 443, hint: expect.stringContaining('PATCH /v1/sandbox/') },
      ],
    });
    const again = await curl('https://evil.example.test/');
    expect(again.stderr.toString()).toContain('403');
    const exitAgain = JSON.parse(again.events.find(({ event }) => event === 'exit')?.data ?? '') as object;
    expect(exitAgain).toMatchObject({
      blocked: [
        {
          rule: 'deny evil.example.test:443',
          hint: `The deny list of the sandbox names it, whatever allow has. Its owner can change that: PATCH /v1/sandbox/${run.sandboxId} {"deny": [the other entries]}, which replaces the list.`,
        },
      ],
    });
    const log = await porthole.call('GET', `/v1/sandbox/${run.sandboxId}/network`, { token: ALICE });
    expect(log.json()).toMatchObject({
      network: 'packages',
      deny: ['evil.example.test:443'],
      attempts: expect.arrayContaining([
        expect.objectContaining({
          host: 'evil.example.test',
          decision: 'blocked',
          rule: 'denied by the owner',
        }),
        expect.objectContaining({ host: 'evil.example.test', rule: 'deny evil.example.test:443' }),
        expect.objectContaining({ host: 'deb.debian.org', decision: 'allowed', rule: 'preset debian' }),
      ]),
    });
  });

  test('exports its attempts as OCSF events, one a line', async () => {
    const path = `/v1/sandbox/${run.sandboxId}/network`;
    const log = (await porthole.call('GET', path, { token: ALICE })).json<{ attempts: { host: string }[] }>();
    const exported = await porthole.call('GET', `${path}?format=ocsf`, { token: ALICE });
    expect([exported.status, exported.headers['content-type']]).toEqual([200, 'application/x-ndjson']);
    const events = exported.text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as object);
    expect(log.attempts.length).toBeGreaterThan(0);
    expect(events).toEqual(
      log.attempts.map(({ host }) =>
        expect.objectContaining({
          class_uid: 4001,
          dst_endpoint: expect.objectContaining({ hostname: host }),
        }),
      ),
    );
    expect((await porthole.call('GET', `${path}?format=csv`, { token: ALICE })).status).toBe(400);
  });

  test('is no wider than the installation permits', async () => {
    const narrow = await startTestHost({ ...PEOPLE, PORTHOLE_NETWORK_WIDEST: 'packages' });
    try {
      for (const body of [{ network: true }, { allow: ['api.example.com'] }]) {
        const answer = await narrow.call('POST', '/v1/sandbox', { token: ALICE, body });
        expect([answer.status, answer.json<{ error: string }>().error]).toEqual([
          403,
          expect.stringContaining('PORTHOLE_NETWORK_WIDEST=packages'),
        ]);
      }
    } finally {
      await narrow.end();
    }
  }, 60_000);

  test.each([
    [
      '169.254.169.254',
      'Sandboxes never reach metadata addresses: they give out credentials of the machine.',
    ],
    ['127.0.0.1:8787', 'Sandboxes never reach loopback and reserved addresses.'],
    [
      '10.1.2.3',
      'Private addresses are refused, unless an administrator permits their range with PORTHOLE_NETWORK_PRIVATE_ALLOW.',
    ],
    ['1.1.1.1', 'The list allow takes names of hosts, not addresses: connect to the name.'],
  ])('says of the address %s why it is refused, and promises nothing else', async (host, hint) => {
    const { stdout, events } = await curl('--noproxy', '', `http://${host}/`);
    expect(stdout.toString()).toContain(`is blocked (address without a name). ${hint}`);
    const exit = events.find(({ event }) => event === 'exit')?.data ?? '';
    expect(JSON.parse(exit)).toMatchObject({ blocked: [{ hint }] });
  });
});
