import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ask, readRun } from '#test/contracts/bridge/bridge-client.ts';
import { suite } from '#test/support/suite.ts';
import { type HostileHarness, missing, openHostileHarness } from './support/hostile-harness.ts';
import { hostileTails, meaningOf, meaningOfTail } from './support/hostile-paths.ts';
import { inLanes, rawRequest } from './support/raw-request.ts';

/** Requests in flight at once. */
const LANES = 6;
/** Node accepts 32 KiB of headers, the router 8 KiB of a parameter. */
const TOO_LONG_URL = [400, 414, 431];

suite('hostile paths', missing, () => {
  let harness: HostileHarness;
  let tails: readonly string[] = [];
  let before = '';
  beforeAll(async () => {
    harness = await openHostileHarness();
    tails = hostileTails(harness.hostCanary);
    before = await harness.outside();
  }, 60_000);
  afterAll(() => harness.end());

  const target = (tail: string) => `/v1/sandbox/${harness.id}/file/${tail}`;

  test('are 500 and more', () => {
    expect(tails.length).toBeGreaterThan(500);
  });

  test('read nothing outside, and each gets its answer', async () => {
    const wrong: unknown[] = [];
    await inLanes(tails, LANES, async (tail) => {
      const { status, text } = await rawRequest(harness, 'GET', target(tail));
      const expected = expectedOf(tail, { inside: [404], workspace: [400] });
      if (!expected.includes(status) || harness.betrays(text))
        wrong.push([tail.slice(0, 200), status, expected]);
    });
    expect(wrong).toEqual([]);
  }, 60_000);

  test('write nothing outside, and inside exactly what they name', async () => {
    const wrong: unknown[] = [];
    const written = new Map<string, string>();
    const folders = new Set<string>();
    // Sequential: a name may be a file for one and a folder for another.
    for (const [at, tail] of tails.entries()) {
      const { status } = await rawRequest(harness, 'PUT', target(tail), `body ${at}`);
      const meaning = meaningOfTail(tail);
      const allowed = expectedOf(tail, { inside: [200], workspace: [400] });
      if (meaning.kind === 'inside' && isClash(meaning.path, written, folders)) {
        if (status !== 400) wrong.push([tail, status, 'clash']);
      } else if (!allowed.includes(status)) wrong.push([tail.slice(0, 200), status, allowed]);
      else if (meaning.kind === 'inside' && status === 200) {
        written.set(meaning.path, `body ${at}`);
        for (let end = meaning.path.lastIndexOf('/'); end > 0; end = meaning.path.lastIndexOf('/', end - 1)) {
          folders.add(meaning.path.slice(0, end));
        }
      }
    }
    expect(wrong).toEqual([]);
    const found = JSON.parse(await harness.sh(`node -e '${EVERY_FILE}'`)) as Record<string, string>;
    expect(found).toEqual(Object.fromEntries(written));
    expect(written.size).toBeGreaterThan(20);
    expect(await harness.outside()).toBe(before);
  }, 120_000);

  test('take no command and no session anywhere else', async () => {
    await harness.sh('find /workspace -mindepth 1 -delete');
    // Most tails decode to the same path; of the raw spellings, every third is used as a sample.
    const cwds = [
      ...new Set(
        tails.flatMap((tail, at) => [
          ...(at % 3 === 0 ? [at % 2 === 0 ? tail : `/${tail}`] : []),
          decoded(tail),
        ]),
      ),
    ];
    expect(cwds.length).toBeGreaterThan(500);
    const wrong: unknown[] = [];
    await inLanes(cwds, LANES, async (cwd, at) => {
      const meaning = meaningOf(cwd);
      const isSession = at % 2 === 1;
      const answer = isSession
        ? await harness.api('POST', 'session', { json: { id: `s-${at}`, cwd } })
        : await harness.api('POST', 'exec', { json: { argv: ['cat', 'secret', 'environ'], cwd } });
      const text = answer.body.toString();
      const expected = {
        outside: 403,
        unreadable: 400,
        'too long': 400,
        'no URL': 400,
        workspace: 200,
        inside: isSession ? 400 : 200,
      }[meaning.kind];
      const isError = meaning.kind === 'inside' && !isSession && readRun(text).last.event !== 'error';
      if (answer.status !== expected || isError || harness.betrays(text))
        wrong.push([cwd.slice(0, 200), answer.status, expected]);
    });
    expect(wrong).toEqual([]);
    expect(await harness.outside()).toBe(before);
  }, 120_000);

  test('through every kind of link, pipe and device are refused, or stay inside', async () => {
    await harness.sh(LINKS);
    const links = [...OUTSIDE_LINKS, ...STUCK];
    const wrong: unknown[] = [];
    const look = async (method: string, tail: string, allowed: readonly number[]) => {
      const answer = await ask(
        harness,
        method,
        target(`workspace/${tail}`),
        method === 'PUT' ? { body: 'hostile' } : {},
      );
      if (!allowed.includes(answer.status) || harness.betrays(answer.body))
        wrong.push([method, tail, answer.status]);
    };
    const tried: [string, string, readonly number[]][] = links.flatMap((name) =>
      SUFFIXES.flatMap((suffix) => [
        ['GET', `${name}${suffix}`, [400, 403, 404]] as [string, string, readonly number[]],
        ['PUT', `${name}${suffix}`, [400, 403]] as [string, string, readonly number[]],
      ]),
    );
    await inLanes(tried, LANES, ([method, tail, allowed]) => look(method, tail, allowed));
    // A command enters its folder itself: for it /proc/self/cwd is the workspace.
    const folders = OUTSIDE_LINKS.filter((name) => name !== 'proc-cwd');
    await inLanes(folders, LANES, async (cwd) => {
      const answer = await harness.api('POST', 'exec', { json: { argv: ['cat', 'secret'], cwd } });
      const text = answer.body.toString();
      const isRefused =
        answer.status === 403 || (answer.status === 200 && readRun(text).last.event === 'error');
      if (!isRefused || harness.betrays(text)) wrong.push(['cwd', cwd, answer.status, text.slice(0, 200)]);
    });
    expect(wrong).toEqual([]);
    expect(tried.length).toBeGreaterThan(200);
    for (const name of ['inside/file', 'chain/file', 'to-file']) {
      expect([name, (await ask(harness, 'GET', target(`workspace/${name}`))).body.toString()]).toEqual([
        name,
        'fine',
      ]);
    }
    for (const name of ['pipe', 'socket']) {
      expect((await ask(harness, 'GET', target(`workspace/${name}`))).status).toBe(400);
      // A file replaces either one; it is never written through it.
      expect((await ask(harness, 'PUT', target(`workspace/${name}`), { body: 'x' })).status).toBe(200);
    }
    expect((await ask(harness, 'PUT', target('workspace/dangling'), { body: 'made' })).status).toBe(200);
    expect(await harness.sh('cat /workspace/to-be-made; cat "/workspace/real/new\n"')).toBe('made');
    expect((await ask(harness, 'PUT', target('workspace/newline'), { body: 'line' })).status).toBe(200);
    expect(await harness.sh('cat "/workspace/real/new\n"')).toBe('line');
    expect(await harness.outside()).toBe(before);
    expect(await harness.leftovers()).toBe('');
  }, 120_000);
});

function expectedOf(
  tail: string,
  { inside, workspace }: { inside: readonly number[]; workspace: readonly number[] },
): readonly number[] {
  const meaning = meaningOfTail(tail);
  if (tail.length > 8_000) return meaning.kind === 'outside' ? [...TOO_LONG_URL, 403] : TOO_LONG_URL;
  return { 'no URL': [400], unreadable: [400], outside: [403], 'too long': [400], workspace, inside }[
    meaning.kind
  ];
}

function isClash(path: string, written: ReadonlyMap<string, string>, folders: ReadonlySet<string>): boolean {
  return folders.has(path) || [...written.keys()].some((file) => path.startsWith(`${file}/`));
}

function decoded(tail: string): string {
  try {
    return decodeURIComponent(tail);
  } catch {
    return `../${tail}`;
  }
}

const EVERY_FILE = `const fs = require("fs"), all = {}; const walk = (at) => { for (const e of fs.readdirSync(at, { withFileTypes: true })) { const p = at + "/" + e.name; if (e.isDirectory()) walk(p); else all[p] = fs.readFileSync(p, "utf8"); } }; walk("/workspace"); console.log(JSON.stringify(all));`;

const LINKS = `cd /workspace; mkdir -p real deep/er; printf fine > real/file; : > plain
ln -s real inside; ln -s inside chain2; ln -s chain2 chain; ln -s real/file to-file; ln -s /proc/self/cwd proc-cwd
ln -s to-be-made dangling; ln -s 'real/new
' newline; printf '' > 'real/new
'
mkfifo pipe; ln -s pipe to-pipe; node -e 'require("net").createServer().listen("/workspace/socket", () => process.kill(process.pid, 9))' || :
ln -s /tmp/canary out; ln -s /tmp/canary/secret secret; ln -s ../tmp/canary rel; ln -s ../tmp/canary/secret rel-secret
ln -s out l1; ln -s l1 l2; ln -s l2 l3; ln -s ../l3 deep/up; ln -s /workspace/../tmp/canary dots; ln -s real/../../tmp/canary dots2
ln -s //tmp//canary slashes; ln -s / root; ln -s .. above; ln -s /tmp/none dangling-out; ln -s /tmp/canary/new new-out
ln -s /proc/self/root proc-root; ln -s /proc/self/environ environ; ln -s /proc/self/fd/0 fd0; ln -s /proc/self/fd/1 fd1; ln -s /proc/self/fd fds
ln -s /dev/fd/3 fd3; ln -s /dev/stdin stdin; ln -s /dev/stderr stderr; ln -s /proc/1/root/tmp/canary one-root; ln -s /proc/self/mem mem; ln -s /proc/self/exe exe
ln -s /dev/zero zero; ln -s /dev/full full; ln -s /dev/random random; ln -s /dev/tty tty; ln -s /dev/ptmx ptmx; ln -s /proc/self/task/../root task; ln -s /proc/thread-self/root thread
ln -s loop loop; ln -s loop-b loop-a; ln -s loop-a loop-b; ln -s self/x self
ln -s /tmp/canary c0; for i in $(seq 1 50); do ln -s c$((i-1)) c$i; done`;

const OUTSIDE_LINKS = [
  'out secret rel rel-secret l1 l2 l3 deep/up dots dots2 slashes root above new-out dangling-out',
  'proc-root environ fd0 fd1 fds fd3 stdin stderr one-root mem exe task thread',
  'zero full random tty ptmx loop loop-a self c1 c30 c50',
  'proc-cwd proc-cwd/real/file root/tmp/canary proc-root/tmp/canary above/tmp/canary deep/../deep/up',
].flatMap((names) => names.split(' '));
/** Files that are no folders, and folders that are no files. */
const STUCK = ['plain/in', 'real', 'real/file/in', 'to-file/in', 'pipe/in', 'inside'];
const SUFFIXES = ['', '/', '/.', '//', '/.//', '%2f'];
