import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { missingFor } from '#test/adapters/local/machine.ts';
import { CANARY, networkSecretsContract, PLACEHOLDER } from '#test/contracts/network-secrets.contract.ts';
import { suite } from '#test/support/suite.ts';
import { ALICE } from './support/people.ts';

suite('secrets that never enter a sandbox', missingFor('bubblewrap'), () => {
  const { seen, hosts, porthole, value, secret, create, patch, run, sh, logged } = networkSecretsContract(
    () => ({}),
  );

  test('are never returned, and are refused outside the policy', async () => {
    const id = await create([secret('KEY', { methods: ['get'] })]);
    const shown = [{ name: 'KEY', host: 'api.example.test', inject: 'header', methods: ['GET'] }];
    for (const path of [`/v1/sandbox/${id}`, `/v1/sandbox/${id}/network`]) {
      const answer = await porthole().call('GET', path, { token: ALICE });
      expect(answer.json()).toMatchObject({ secrets: shown });
      expect(answer.text).not.toContain(CANARY);
    }
    const outside = await patch(id, { secrets: [secret('KEY', { host: 'api.example.org' })] });
    expect([outside.status, outside.json()]).toEqual([
      400,
      expect.objectContaining({
        error: expect.stringContaining('KEY: api.example.org:443 is outside the policy of the sandbox'),
      }),
    ]);
    for (const bad of [
      [secret('KEY', { value: `${CANARY}\n` })],
      [secret('KEY', { value: { a: CANARY } })],
      { KEY: CANARY },
    ]) {
      const refused = await patch(id, { secrets: bad });
      expect([refused.status, refused.text]).toEqual([400, expect.not.stringContaining(CANARY)]);
    }
    const off = await porthole().call('POST', '/v1/sandbox', {
      token: ALICE,
      body: { network: 'off', secrets: [secret('KEY')] },
    });
    expect(off.status).toBe(400);
  });

  test('arrive with curl and Python in headers, the query and Basic credentials', async () => {
    const id = await create([
      secret('KEY'),
      secret('QUERY', { inject: 'query', value: `${value('QUERY')}&more` }),
      secret('PASSWORD', { inject: 'basic' }),
    ]);
    expect((await sh(id, 'echo $KEY; echo $QUERY; echo $PASSWORD')).out.trim().split('\n')).toEqual(
      Array.from({ length: 3 }, () => expect.stringMatching(PLACEHOLDER)),
    );
    const url = 'https://api.example.test';
    expect(await sh(id, `curl -sS -m 20 -H "Authorization: Bearer $KEY" "${url}/?k=$QUERY"`)).toEqual({
      out: 'from afar\n',
      err: '',
      code: 0,
    });
    expect((await sh(id, `curl -sS -m 20 -u "user:$PASSWORD" -d body ${url}/`)).out).toBe('from afar\n');
    const python = `import os, urllib.request as u
print(u.urlopen(u.Request('${url}/python', headers={'X-Key': os.environ['KEY']}), timeout=20).read())`;
    expect((await run(id, 'python3', '-c', python)).out).toBe("b'from afar\\n'\n");
    expect(seen).toMatchObject([
      { url: `/?k=${value('QUERY')}%26more`, headers: { authorization: `Bearer ${value('KEY')}` } },
      {
        method: 'POST',
        body: 'body',
        headers: {
          authorization: `Basic ${Buffer.from(`user:${value('PASSWORD')}`).toString('base64')}`,
        },
      },
      { url: '/python', headers: { 'x-key': value('KEY') } },
    ]);
    expect(await logged(id)).toContain('allowed allow *.example.test, secret QUERY, KEY');
  }, 120_000);

  test('stay placeholders for other hosts, methods and places', async () => {
    const id = await create([secret('KEY', { methods: ['GET'] })]);
    await sh(id, 'curl -sS -m 20 -H "X: $KEY" https://other.example.test/other');
    await sh(id, 'curl -sS -m 20 -H "X: $KEY" -X PUT https://api.example.test/put');
    await sh(id, 'curl -sS -m 20 -d "$KEY" -X GET "https://api.example.test/get/$KEY?$KEY"');
    expect(seen.map(({ method }) => method)).toEqual(['GET', 'PUT', 'GET']);
    expect(JSON.stringify(seen)).not.toContain(CANARY);
    expect(seen[0]?.headers['x']).toMatch(PLACEHOLDER);
  }, 60_000);

  test('follow a change at once, under the same placeholder', async () => {
    const id = await create([]);
    const ask = 'curl -sS -m 20 -H "X: $KEY" https://api.example.test/';
    expect((await patch(id, { secrets: [secret('KEY')] })).json()).toMatchObject({
      secrets: [{ name: 'KEY', host: 'api.example.test', inject: 'header' }],
    });
    expect((await sh(id, ask)).out).toBe('from afar\n');
    const { out: placeholder } = await sh(id, 'echo $KEY');
    await patch(id, { secrets: [secret('KEY', { value: value('rotated') })] });
    expect((await sh(id, `echo $KEY; ${ask}`)).out).toBe(`${placeholder}from afar\n`);
    await patch(id, { secrets: [] });
    await sh(id, `KEY=${placeholder.trim()}; ${ask}`);
    expect(seen.map(({ headers }) => headers['x'])).toEqual([
      value('KEY'),
      value('rotated'),
      placeholder.trim(),
    ]);
  }, 60_000);

  test('are put back into a redirect, which the program follows itself', async () => {
    const id = await create([secret('KEY', { inject: 'query' })]);
    const { out } = await sh(
      id,
      'curl -sS -m 20 -D - -o /dev/null "https://api.example.test/redirect?k=$KEY"',
    );
    expect(out).toMatch(/location: \/after\?k=porthole-secret-[0-9a-f]{32}/i);
    expect(seen.map(({ url }) => url)).toEqual([`/redirect?k=${value('KEY')}`]);
  }, 60_000);

  test('travel in the handshake of a WebSocket', async () => {
    const id = await create([secret('KEY', { inject: 'query' })]);
    const script = `
      const connect = require('http').request({ port: 2792, method: 'CONNECT', path: 'api.example.test:443' });
      connect.once('connect', (_, socket) => {
        const secure = require('tls').connect({ socket, servername: 'api.example.test' });
        const key = Buffer.alloc(16).toString('base64');
        secure.write('GET /socket?' + process.env.KEY + ' HTTP/1.1\\r\\nHost: api.example.test\\r\\nConnection: Upgrade\\r\\n' +
          'Upgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: ' + key + '\\r\\n\\r\\n');
        let answer = '', isSent = false;
        secure.on('data', (bytes) => {
          answer += bytes;
          if (!isSent) secure.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]));
          isSent = true;
          if (answer.endsWith('echo hi')) { console.log(answer.split(' ')[1], 'echo hi'); secure.destroy(); }
        });
      }).end();`;
    expect(await run(id, 'node', '-e', script)).toEqual({ out: '101 echo hi\n', err: '', code: 0 });
    expect(seen.map(({ url }) => url)).toEqual([`/socket?${value('KEY')}`]);
  }, 60_000);

  test('stream an answer, which ends when the policy no longer allows the host', async () => {
    const id = await create([secret('KEY')]);
    const curl = sh(id, 'curl -sS -N -m 30 -o got https://api.example.test/stream; cat got');
    await sh(id, 'until [ -s got ]; do sleep 0.1; done');
    const ended = once(hosts(), 'stream ended');
    await patch(id, { network: 'off' });
    await ended;
    expect((await curl).out).toBe('first\n');
    expect(await logged(id)).toContain('allowed allow *.example.test');
  }, 60_000);

  test('never leave in clear, nor for a program that refuses the certificate', async () => {
    const id = await create([secret('KEY'), secret('BAD', { host: 'bad.example.test' })]);
    const plain = await sh(id, 'curl -sS -m 20 -H "X: $KEY" http://api.example.test/');
    expect(plain.out).toBe(
      'api.example.test:80 is blocked (secret KEY needs https). Use https://api.example.test.\n',
    );
    const tunnelled = await sh(
      id,
      'curl -sS -m 20 -p -H "X: $KEY" --connect-to ::api.example.test:443 http://api.example.test/',
    );
    expect(tunnelled.code).not.toBe(0);
    const pinned = await sh(
      id,
      `curl -sS -m 20 -H "X: $KEY" --pinnedpubkey 'sha256//${'A'.repeat(43)}=' https://api.example.test/`,
    );
    expect(pinned.code).not.toBe(0);
    const refuses = await sh(id, 'curl -sS -m 20 --cacert /dev/null -H "X: $KEY" https://api.example.test/');
    expect(refuses.code).not.toBe(0);
    const untrustedHost = await sh(id, 'curl -sS -m 20 -H "X: $BAD" https://bad.example.test/');
    expect(untrustedHost.code).not.toBe(0);
    expect(seen).toEqual([]);
    const log = await logged(id);
    expect(log).toEqual(
      expect.arrayContaining([
        'blocked secret KEY needs https',
        'blocked no TLS, which secrets of api.example.test need',
        expect.stringMatching(
          /^failed the program refuses the certificate of this sandbox for api\.example\.test \(.+\), which secret KEY needs$/,
        ),
        expect.stringMatching(/^failed the TLS of bad\.example\.test is not valid \(.+\)$/),
      ]),
    );
  }, 120_000);

  test('do not follow a request that is smuggled or names another host', async () => {
    const id = await create([secret('KEY')]);
    const attempt = `
      const [sent, servername, alpn] = JSON.parse(process.argv[1]);
      const connect = require('http').request({ port: 2792, method: 'CONNECT', path: 'api.example.test:443' });
      connect.once('connect', (_, socket) => {
        const secure = require('tls').connect({ socket, servername, ALPNProtocols: alpn, rejectUnauthorized: false });
        let answer = '';
        const end = () => { console.log(answer.split('\\r\\n')[0]); process.exit(); };
        secure.on('secureConnect', () => secure.write(sent.replaceAll('KEY', process.env.KEY)));
        secure.on('data', (bytes) => {
          answer += bytes;
          if (/^HTTP.1.1 200[^]*afar/.test(answer)) end();
        }).on('close', end).on('error', end);
      }).end();`;
    const tries = async (sent: string, servername = 'api.example.test', alpn: string[] = []) =>
      (await run(id, 'node', '-e', attempt, JSON.stringify([sent, servername, alpn]))).out.trim();
    const own = 'Host: api.example.test\r\n';
    const hidden = `GET /hidden HTTP/1.1\r\n${own}X: KEY\r\n\r\n`;
    // The placeholder is longer than its name.
    const length = hidden.length + 'porthole-secret-'.length + 32 - 'KEY'.length;
    const chunk = `${length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`;
    const refused: [string, string?, string[]?][] = [
      ['GET / HTTP/1.1\r\nHost: other.example.test\r\nX: KEY\r\n\r\n'],
      ['GET / HTTP/1.1\r\nHost: api.example.test:8443\r\nX: KEY\r\n\r\n'],
      [`GET / HTTP/1.1\r\n${own}Host: other.example.test\r\nX: KEY\r\n\r\n`],
      ['GET / HTTP/1.1\r\nX: KEY\r\n\r\n'],
      [`GET https://other.example.test/ HTTP/1.1\r\n${own}X: KEY\r\n\r\n`],
      [`POST / HTTP/1.1\r\n${own}X: KEY\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`],
      [`POST / HTTP/1.1\r\n${own}X: KEY\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n${chunk}`],
      [`POST / HTTP/1.1\r\n${own}X: KEY\r\nTransfer-Encoding: gzip, chunked\r\n\r\n${chunk}`],
      [`GET / HTTP/1.1\r\n${own}X: KEY`, 'other.example.test'],
      [`GET / HTTP/1.1\r\n${own}X: KEY`, ''],
      [`GET / HTTP/1.1\r\n${own}X: KEY`, 'api.example.test', ['h2']],
    ];
    const answers = await Promise.all(refused.map((each) => tries(...each)));
    expect(answers.filter((line) => /^HTTP\/1\.1 [123]/.test(line))).toEqual([]);
    expect(seen).toEqual([]);
    // Bodies that another parser could take for a second request stay bodies.
    await tries(`GET / HTTP/1.1\r\n${own}Transfer-Encoding: chunked\r\n\r\n${chunk}`);
    await tries(
      `GET / HTTP/1.1\r\n${own}Connection: content-length\r\nContent-Length: ${length}\r\n\r\n${hidden}`,
    );
    expect(seen.map(({ url }) => url)).toEqual(['/', '/']);
    expect(JSON.stringify(seen)).not.toContain(CANARY);
  }, 120_000);
});
