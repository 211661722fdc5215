import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { serve } from '#test/host/support/commands.ts';
import { ALICE, BOB, PEOPLE } from '#test/host/support/people.ts';
import { makeRun } from '#test/host/support/runs.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { Porthole } from '../../client/node/index.ts';
import { runPorthole } from './support/porthole-command.ts';

let host: TestHost;
let environment: Record<string, string>;
let runId: string;
let url: string;
const run = (line: string, ...more: string[]) => runPorthole([...line.split(' '), ...more], environment);
const json = async <T>(line: string): Promise<T> => JSON.parse((await run(`${line} --json`)).stdout) as T;

interface Link {
  readonly id: string;
  readonly url: string;
  readonly [field: string]: unknown;
}

/** What a visitor with the link and the password gets. */
const open = async (link: string, password?: string) => {
  const { searchParams, hash } = new URL(link);
  const [id, secret] = hash.slice(1).split('.');
  const preview = searchParams.get('preview');
  const body = { preview, link: id, secret, ...(password !== undefined && { password }) };
  const answer = await host.call('POST', '/api/open', { body });
  return { status: answer.status, ...answer.json<{ needs?: string; ticket?: string }>() };
};

beforeAll(async () => {
  host = await startTestHost(PEOPLE);
  environment = { PORTHOLE_URL: `http://127.0.0.1:${host.host.port}`, PORTHOLE_API_KEY: ALICE };
  const made = await makeRun(host, ALICE);
  ({ runId } = made);
  await serve(host, made.sandboxId, 3414, 'shop', ALICE);
});
afterAll(() => host.end());

test('makes a link, says until when, and warns where it is not needed', async () => {
  const shared = await run(`share ${runId} 3414 --expires 1d --uses 5`);
  expect(shared.code).toBe(0);
  expect(shared.stdout).toMatch(
    /^http:\/\/127\.0\.0\.1:\d+\/open\?preview=preview-[0-9a-f]{20}#lnk_\w+\.\S+\n$/,
  );
  expect(shared.stderr).toMatch(
    /^lnk_\w+ until 20\S+Z\nporthole: anyone with the link of the preview itself can see/,
  );
  const porthole = new Porthole({ url: environment['PORTHOLE_URL'], apiKey: ALICE });
  const [preview] = await (await porthole.run(runId)).previews();
  url = preview?.url ?? '';
  expect(await preview?.sharing.setAccess('owner')).toMatchObject({ level: 'owner', maximum: 'link' });
  expect(await preview?.sharing.viewers()).toEqual([]);
});

test('finds the only preview of a run, and one by its URL', async () => {
  const byRun = await json<Link>(`share ${runId} --level org --label guests`);
  expect(byRun).toMatchObject({ label: 'guests', level: 'org', max_uses: null, expires_at: null });
  expect(byRun).toMatchObject({ may_wake: false });
  expect(await json<Link>(`share ${runId} --may-wake`)).toMatchObject({ may_wake: true });
  const byUrl = await run(`share ${url}`);
  expect(byUrl).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^lnk_\w+ until it is revoked\nporthole: Only this/),
  });
  expect(await open(byUrl.stdout.trim())).toMatchObject({ status: 200, ticket: expect.any(String) });
});

test('gives a preview a name, and gives it back', async () => {
  const named = await run(`share ${runId} 3414 --name shop-demo`);
  expect(named.stdout).toMatch(/^http:\/\/shop-demo-preview\.localhost:\d+\n$/);
  const refused = await run(`share ${runId} 3414 --name my-login`);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('choose another name')]);
  const words = ['share', runId, '3414', '--name', ''];
  expect((await runPorthole(words, environment)).stdout).toBe('The preview has no name.\n');
});

test('requests paths of a preview that only its owner may open, with one pass', async () => {
  let passes = 0;
  const fetch: typeof globalThis.fetch = (input, init) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    if (pathname.endsWith('/pass')) passes += 1;
    return globalThis.fetch(input, init);
  };
  const porthole = new Porthole({ url: environment['PORTHOLE_URL'], apiKey: ALICE, fetch });
  const [preview] = await (await porthole.run(runId)).previews();
  const text = async (init?: RequestInit) => (await preview?.fetch('/', init))?.text();
  expect(await text({ method: 'POST', body: 'x', headers: { accept: '*/*' } })).toBe('shop');
  expect([await text(), passes]).toEqual(['shop', 1]);
  // A change of the level ends the pass.
  await preview?.sharing.setAccess('org');
  expect([await text(), passes]).toEqual(['shop', 2]);
  const stranger = new Porthole({ url: environment['PORTHOLE_URL'], apiKey: BOB });
  expect(await stranger.sharing(preview?.info.session_id ?? '').pass()).toBeUndefined();
  const { stdout, code } = await run(`curl ${runId} 3414 /`);
  expect([stdout, code]).toEqual(['shop', 0]);
});

test('reads the password from the standard input', async () => {
  const words = ['share', runId, '3414', '--password-stdin', '--json'];
  const { stdout } = await runPorthole(words, environment, { stdin: 'open sesame\n' });
  const link = JSON.parse(stdout) as Link;
  expect(link['has_password']).toBe(true);
  expect(await open(link.url)).toMatchObject({ needs: 'password' });
  expect(await open(link.url, 'open sesame')).toMatchObject({ ticket: expect.any(String) });
  expect(await runPorthole(words, environment)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--password-stdin needs a password'),
  });
});

test('prints the link as a QR code, unless only this machine can open it', async () => {
  const codeIn = (text: string) => text.split('\n').filter((line) => /^[█▀▄ ]+$/.test(line));
  const local = await run(`share ${runId} 3414 --qr`);
  expect(codeIn(local.stderr)).toEqual([]);
  expect(local.stderr).toContain('Only this machine can open the address');
  const served = await startTestHost({ ...PEOPLE, PORTHOLE_PUBLIC_URL: 'https://porthole.test' });
  try {
    const made = await makeRun(served, ALICE);
    await serve(served, made.sandboxId, 3415, 'shop', ALICE);
    const { stdout, stderr } = await runPorthole(['share', made.runId, '3415', '--qr'], {
      ...environment,
      PORTHOLE_URL: `http://127.0.0.1:${served.host.port}`,
    });
    expect(stdout).toMatch(/^https:\/\/porthole\.test\/open\S+\n$/);
    expect(stderr).not.toContain('Only this machine');
    const code = codeIn(stderr);
    expect(new Set(code.map(({ length }) => length)).size).toBe(1);
    expect(code.length).toBeGreaterThan(15);
  } finally {
    await served.end();
  }
});

test('lists the links, and revokes one', async () => {
  const { id, url: link } = await json<Link>(`share ${runId} 3414 --label once --uses 1`);
  await open(link);
  const list = await run(`share ${runId} 3414 --list`);
  expect(list.stdout).toMatch(/^ID +LEVEL +VISITS +UNTIL +LABEL\n/);
  expect(list.stdout).toMatch(new RegExp(`^${id} +link +1 of 1 +- +once$`, 'm'));
  expect(list.stdout).toMatch(/ org +0 +- +guests$/m);
  expect(await run(`share ${url} --revoke ${id}`)).toEqual({
    code: 0,
    stdout: `${id} revoked\n`,
    stderr: '',
  });
  expect((await json<Link[]>(`share ${runId} --list`)).map((each) => each.id)).not.toContain(id);
  expect(await open(link)).toMatchObject({ status: 403 });
});

test.each([
  ['share RUN 3414 --uses 0', '--uses must be a whole number above 0, got "0".'],
  ['share RUN 3414 --expires soon', '--expires must be a time such as 90s, 30m, 2h or 1d, got "soon".'],
  ['share RUN 3414 --level owner', '--level must be one of link, signed_in, org, got "owner".'],
  ['share RUN 3415 --list', 'Port 3415 has no live preview. Start it: porthole preview RUN 3415 --once'],
])('refuses %s', async (line, words) => {
  const { code, stderr } = await run(line.replace('RUN', runId));
  expect(code).not.toBe(0);
  expect(stderr).toContain(words.replace('RUN', runId));
});
