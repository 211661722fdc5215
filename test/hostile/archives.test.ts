import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { suite } from '#test/support/suite.ts';
import { type HostileHarness, missing, openHostileHarness } from './support/hostile-harness.ts';
import { BOMBS, HARMLESS_TARS, HOSTILE_TARS } from './support/hostile-tars.ts';
import { inLanes } from './support/raw-request.ts';
import { entry, pax, tar } from './support/tar-builder.ts';

suite('hostile archives', missing, () => {
  let harness: HostileHarness;
  let before = '';
  beforeAll(async () => {
    harness = await openHostileHarness();
    before = await harness.outside();
  }, 60_000);
  afterAll(() => harness.end());

  const hydrate = async (body: Buffer) => {
    const answer = await harness.api('POST', 'hydrate', { body });
    return { status: answer.status, ...answer.json<{ ok?: true; error?: string; code?: string }>() };
  };
  /** Names below the workspace with their kinds, without the folder that it begins with. */
  const workspace = () =>
    harness.sh(`find /workspace -mindepth 1 ! -path /workspace/outputs -printf '%P %y %l\\n' | sort`);

  test('are refused with 400, each of them, and nothing of any is unpacked or left behind', async () => {
    const wrong: unknown[] = [];
    await inLanes(Object.entries(HOSTILE_TARS), 4, async ([what, archive]) => {
      const { status, code, error } = await hydrate(archive);
      if (
        status !== 400 ||
        code !== 'invalid_request' ||
        error?.startsWith('The archive is refused: ') !== true
      ) {
        wrong.push([what, status, error]);
      }
    });
    expect(wrong).toEqual([]);
    expect(await workspace()).toBe('');
    expect(await harness.outside()).toBe(before);
  }, 60_000);

  test.each(Object.entries(BOMBS))('%s are refused as well', async (_what, make) => {
    expect(await hydrate(make())).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(await workspace()).toBe('');
  });

  test('are accepted when they are harmless, and create exactly what they say', async () => {
    for (const [what, [archive, made]] of Object.entries(HARMLESS_TARS)) {
      await harness.sh('chmod -R u+rwX /workspace && find /workspace -mindepth 1 -delete');
      expect([what, await hydrate(archive)]).toMatchObject([what, { status: 200, ok: true }]);
      expect([what, JSON.parse(await harness.sh(`node -e '${EVERY_FILE}'`))]).toEqual([what, made]);
    }
    expect(await harness.outside()).toBe(before);
  }, 60_000);

  test('lose a set-user-id bit when they are unpacked', async () => {
    await hydrate(tar({ name: 'suid', mode: 0o6755, content: 'x' }));
    expect(await harness.sh('stat -c %a /workspace/suid')).toBe('755\n');
  });

  test('keeps the mode of a read-only folder and of an existing one', async () => {
    await harness.sh('cd /workspace; chmod -R u+rwX .; rm -rf -- *; mkdir there; chmod 700 there');
    const archive = tar(
      { name: 'closed', type: '5', mode: 0o555 },
      { name: 'closed/f', content: 'x' },
      { name: 'there', type: '5', mode: 0o755 },
      { name: 'there/in', type: '5', mode: 0o555 },
    );
    expect(await hydrate(archive)).toEqual({ status: 200, ok: true });
    expect(await harness.sh('cd /workspace; stat -c "%n %a" closed there there/in')).toBe(
      'closed 555\nthere 700\nthere/in 555\n',
    );
  });

  test('are not bombs with 65,000 pipes of one name, or with 8,000 files', async () => {
    await harness.sh('chmod -R u+rwX /workspace && find /workspace -mindepth 1 -delete');
    const pipe = entry({ name: 'pipe', type: '6' });
    expect(await hydrate(tar(...Array.from({ length: 65_000 }, () => pipe)))).toEqual({
      status: 200,
      ok: true,
    });
    const files = Array.from({ length: 8_000 }, (_, at) => entry({ name: `many/f${at}` }));
    expect(await hydrate(tar(...files))).toEqual({ status: 200, ok: true });
    // Now each exists already, and is replaced.
    expect(await hydrate(tar(...files))).toEqual({ status: 200, ok: true });
    expect(await harness.sh('ls /workspace; ls /workspace/many | wc -l; rm -rf /workspace/many')).toBe(
      'many\npipe\n8000\n',
    );
  }, 120_000);

  test('are refused, with nothing unpacked, when they go through a workspace link that leaves the workspace', async () => {
    await harness.sh(
      'cd /workspace; chmod -R u+rwX .; rm -rf -- *; ln -s /tmp/canary leaves; mkdir deep; ln -s ../../tmp/canary deep/leaves; ln -s deep stays',
    );
    for (const name of ['leaves/secret', 'deep/leaves/secret', 'stays/leaves/new', 'deep/leaves/in/new']) {
      const { status, code } = await hydrate(
        tar({ name: 'aaa', content: 'x' }, { name, content: 'x' }, { name: 'zzz', content: 'x' }),
      );
      expect([name, status, code]).toEqual([name, 403, 'invalid_request']);
    }
    expect(await workspace()).toBe(
      'deep d \ndeep/leaves l ../../tmp/canary\nleaves l /tmp/canary\nstays l deep\n',
    );
    expect(await hydrate(tar({ name: 'stays/new', content: 'x' }))).toEqual({ status: 200, ok: true });
    expect(await harness.sh('cat /workspace/deep/new; readlink /workspace/stays')).toBe('xdeep\n');
    expect(await harness.outside()).toBe(before);
  });

  test('replace a link in the place of a file, and do not follow it', async () => {
    await harness.sh('cd /workspace; rm -rf -- *; ln -s /tmp/canary/secret secret; ln -s /tmp/canary folder');
    expect(
      await hydrate(tar({ name: 'secret', content: 'mine' }, { name: 'folder', content: 'mine' })),
    ).toEqual({ status: 200, ok: true });
    expect(await harness.sh('cat /workspace/secret /workspace/folder')).toBe('minemine');
    expect(await harness.outside()).toBe(before);
  });

  test('change nothing when they cannot be unpacked', async () => {
    await harness.sh('cd /workspace; rm -rf -- *; mkdir taken; echo old > kept');
    const answer = await hydrate(tar({ name: 'kept', content: 'new' }, { name: 'taken', content: 'x' }));
    expect([answer.status, answer.code, answer.error]).toEqual([
      502,
      'workspace_archive_write_error',
      expect.stringMatching(/taken: a folder is there already$/),
    ]);
    expect(await harness.sh('cat /workspace/kept; ls -A /workspace')).toBe('old\nkept\ntaken\n');
  });

  test('sizes are what is there: nothing is made of what is only announced', async () => {
    const huge = entry({ name: 'huge', size: '77777777777\0' });
    expect((await hydrate(Buffer.concat([huge, Buffer.alloc(1_024)]))).status).toBe(400);
    expect((await hydrate(tar(pax({ size: '1099511627776' }), { name: 'huge' }))).status).toBe(400);
    expect(await harness.leftovers()).toBe('');
  });
});

const EVERY_FILE = `const fs = require("fs"), all = {}; const walk = (at) => { for (const e of fs.readdirSync(at, { withFileTypes: true })) { const p = at + "/" + e.name; if (e.isDirectory()) walk(p); else all[p.slice(11)] = e.isSymbolicLink() ? "→" + fs.readlinkSync(p) : fs.readFileSync(p, "utf8"); } }; walk("/workspace"); console.log(JSON.stringify(all));`;
