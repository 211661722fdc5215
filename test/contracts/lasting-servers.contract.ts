import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { serverList } from '#protocol/guest/servers-protocol.ts';
import { execute } from '#test/host/support/commands.ts';
import type { TestHost } from '#test/support/in-process-host.ts';
import { repetitions } from '#test/support/suite.ts';

/** Prints once per start the values of its environment, and listens. */
const SAYS = `console.log(process.env.TOKEN, process.env.OWN);
  require('http').createServer((_, r) => r.end('hi')).listen(process.env.PORT, '127.0.0.1')`;

/**
 * Declared servers across stop and resume, with the variables that no file of the workspace
 * contains.
 */
export function lastingServersContract(
  open: () => Promise<{ readonly porthole: TestHost; end(): Promise<void> }>,
): void {
  let opened: Awaited<ReturnType<typeof open>>;
  let id: string;
  beforeAll(async () => {
    opened = await open();
    const env = { TOKEN: 'of-the-sandbox' };
    const made = await opened.porthole.call('POST', '/v1/sandbox', { body: { env } });
    ({ id = '' } = made.json<{ id?: string }>());
  }, 120_000);
  afterAll(() => opened?.end(), 60_000);

  const ask = (method: string, path: string, body?: unknown) =>
    opened.porthole.call(method, `/v1/sandbox/${id}${path}`, { body });
  const shell = (script: string) => execute(opened.porthole, id, ['sh', '-c', script]);
  const states = async () =>
    serverList.parse((await ask('GET', '/servers')).json()).servers.map(({ name, state }) => [name, state]);
  const printed = async (name: string) =>
    (await ask('GET', `/servers/${name}/logs`)).text
      .split('\n')
      .flatMap((line, at, all) => (all[at - 2] === 'event: stdout' ? [line.slice('data: '.length)] : []))
      .map((data) => Buffer.from(data, 'base64').toString())
      .join('');

  const times = repetitions(200, 3, 100);
  test(
    `come back with their variables over ${times} stops and resumes`,
    async () => {
      const argv = ['node', '-e', SAYS];
      await ask('PUT', '/servers/api', { argv, port: 3401, env: { OWN: 'of-the-request' } });
      await ask('PUT', '/servers/off', { argv: ['sleep', '600'] });
      await ask('POST', '/servers/off/stop', {});
      const served = await shell(
        `OWN=of-the-shell porthole serve --name inside 3402 -- node -e "${SAYS.replaceAll('\n', ' ')}"`,
      );
      expect(served).toMatchObject({ exitCode: 0 });
      for (let time = 0; time < times; time += 1) {
        expect((await ask('POST', '/stop', {})).status).toBe(200);
        expect((await ask('POST', '/resume', {})).status).toBe(200);
        for (const port of [3401, 3402]) {
          expect((await ask('POST', `/ports/${port}/wait`, {})).json()).toMatchObject({ state: 'listening' });
        }
        expect((await states()).map(([name, state]) => [name, state === 'stopped'])).toEqual([
          ['api', false],
          ['inside', false],
          ['off', true],
        ]);
      }
      expect(await printed('api')).toBe('of-the-sandbox of-the-request\n'.repeat(times + 1));
      expect(await printed('inside')).toBe('of-the-sandbox of-the-shell\n'.repeat(times + 1));
      const { stdout } = await shell('grep -r of-the-s /workspace || echo none');
      expect(stdout.toString()).toBe('none\n');
    },
    60_000 + times * 10_000,
  );
}
