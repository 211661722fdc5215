import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readRun, run } from '#test/contracts/bridge/bridge-client.ts';
import { suite } from '#test/support/suite.ts';
import { type HostileHarness, missing, openHostileHarness } from './support/hostile-harness.ts';
import { inLanes } from './support/raw-request.ts';
import { tar } from './support/tar-builder.ts';

const exchange = { x64: 316, arm64: 276 }[process.arch as string];

suite(
  'links that are swapped in while files are used',
  exchange === undefined ? 'the number of renameat2 is known for x64 and arm64 only' : missing,
  () => {
    let harness: HostileHarness;
    let before = '';
    beforeAll(async () => {
      harness = await openHostileHarness();
      await harness.sh('cp /tmp/canary/secret /tmp/canary/f');
      before = await harness.outside();
    }, 60_000);
    afterAll(() => harness.end());

    /** Swaps until /workspace/stop exists; then prints the number of swaps. */
    const swap = (script: string) =>
      run(harness, harness.id, [
        'perl',
        '-e',
        `chdir "/workspace"; my $n = 0; sub swap { $n++ if syscall(${exchange}, -100, $_[0], -100, $_[1], 2) == 0 } until (-e "stop") { ${script} } print $n;`,
      ]);

    test('reveal no canary in 10,000 swaps, and let nothing be written outside', async () => {
      await harness.sh(
        'cd /workspace; mkdir -p dir deep/dir; echo fine > dir/f; echo fine > deep/dir/f; echo fine > file; ln -s /tmp/canary dir-link; ln -s /tmp/canary deep/link; ln -s /tmp/canary/secret file-link',
      );
      const swapping = swap(`
        for my $pair (["dir", "dir-link"], ["deep/dir", "deep/link"], ["file", "file-link"]) { swap(@$pair) for 1 .. 5; }
        unless (-l "file" or -l "file-link") { unlink "file-link"; symlink "/tmp/canary/secret", "file-link"; }
        select undef, undef, undef, rand() * 0.003;`);
      const archive = tar({ name: 'dir/hydrated', content: 'x' }, { name: 'file', content: 'fine\n' });
      const wrong: unknown[] = [];
      const seen = new Map<string, number>();
      const works: Readonly<Record<string, () => ReturnType<HostileHarness['api']>>> = {
        'read a/f': () => harness.api('GET', 'file/workspace/dir/f'),
        'read a/b/f': () => harness.api('GET', 'file/workspace/deep/dir/f'),
        'read f': () => harness.api('GET', 'file/workspace/file'),
        'write a/f': () => harness.api('PUT', 'file/workspace/dir/written', { body: 'x' }),
        'write a/b/c/f': () => harness.api('PUT', 'file/workspace/deep/dir/made/written', { body: 'x' }),
        'write f': () => harness.api('PUT', 'file/workspace/file', { body: 'fine\n' }),
        exec: () =>
          harness.api('POST', 'exec', { json: { argv: ['eval', 'cat f; echo x > ran'], cwd: 'deep/dir' } }),
        session: () =>
          harness.api('POST', 'exec', {
            json: { argv: ['eval', 'cat f; echo x > ran'], cwd: 'dir' },
            headers: { 'session-id': 's' },
          }),
        hydrate: () => harness.api('POST', 'hydrate', { body: archive }),
        persist: () => harness.api('POST', 'persist'),
      };
      const turns = Array.from({ length: 70 }, () => Object.entries(works)).flat();
      await inLanes(turns, 4, async ([what, work]) => {
        // A file that cannot be read to its end is truncated, and never appears complete.
        const answer = await work().catch((error: Error) =>
          error.message === 'aborted' ? undefined : Promise.reject(error),
        );
        if (answer === undefined) return;
        const isStream = what === 'exec' || what === 'session';
        const text = isStream && answer.status === 200 ? readRun(answer.body.toString()).stdout : answer.body;
        if (![200, 400, 403, 404, 409, 502].includes(answer.status) || harness.betrays(text))
          wrong.push([what, answer.status, text.toString().slice(0, 300)]);
        seen.set(`${what} ${answer.status}`, (seen.get(`${what} ${answer.status}`) ?? 0) + 1);
      });
      await harness.sh('touch /workspace/stop');
      const { stdout } = await swapping;
      expect(wrong).toEqual([]);
      expect(Number(stdout.toString())).toBeGreaterThan(10_000);
      // Both sides occurred: a path inside is used, a path outside is refused.
      for (const met of [
        'read a/f 200',
        'read a/f 403',
        'write a/f 200',
        'write a/f 403',
        'hydrate 200',
        'hydrate 403',
      ])
        expect([met, seen.has(met)]).toEqual([met, true]);
      expect(await harness.outside()).toBe(before);
      expect(await harness.leftovers()).toBe('');
    }, 120_000);

    test('do not hold a request forever when a pipe is swapped in', async () => {
      await harness.sh('cd /workspace; rm -rf -- *; echo fine > a; mkfifo b');
      const swapping = swap('swap("a", "b") for 1 .. 2000;');
      const statuses: number[] = [];
      let slowest = 0;
      await inLanes(Array.from({ length: 100 }), 4, async () => {
        const began = performance.now();
        statuses.push((await harness.api('GET', 'file/workspace/a')).status);
        slowest = Math.max(slowest, performance.now() - began);
      });
      await harness.sh('touch /workspace/stop');
      await swapping;
      expect(statuses.filter((status) => ![200, 400, 404, 502].includes(status))).toEqual([]);
      expect(slowest).toBeLessThan(15_000);
    }, 60_000);

    test('hold a request for 10 s when a file does not open for 45 s', async () => {
      // A lease (fcntl(2), F_SETLEASE): an open of the file blocks until the holder releases the
      // lease, or the kernel's lease-break-time ends.
      await harness.sh(
        'cd /workspace; rm -rf -- *; echo fine > leased; perl -e \'$SIG{IO} = "IGNORE"; open F, "+<", "leased"; fcntl(F, 1024, 1) or exit 1; open T, ">", "taken"; close T; sleep 60\' >/dev/null 2>&1 & until [ -e /workspace/taken ]; do sleep 0.1; done',
      );
      const began = performance.now();
      const answer = await harness.api('GET', 'file/workspace/leased');
      expect([answer.status, answer.json<{ code: string }>().code]).toEqual([502, 'exec_transport_error']);
      expect(performance.now() - began).toBeLessThan(15_000);
    }, 30_000);

    test('are followed to an end when a link goes through itself', async () => {
      await harness.sh('cd /workspace; rm -rf -- *; ln -s self/x self');
      expect((await harness.api('GET', 'file/workspace/self')).status).toBe(404);
      expect((await harness.api('PUT', 'file/workspace/self', { body: 'x' })).status).toBe(403);
    });
  },
);
