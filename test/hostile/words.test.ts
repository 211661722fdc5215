import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readRun, type RunOptions, run } from '#test/contracts/bridge/bridge-client.ts';
import { suite } from '#test/support/suite.ts';
import { type HostileHarness, missing, openHostileHarness } from './support/hostile-harness.ts';

suite('hostile words', missing, () => {
  let harness: HostileHarness;
  let before = '';
  beforeAll(async () => {
    harness = await openHostileHarness();
    before = await harness.outside();
  }, 60_000);
  afterAll(() => harness.end());

  const exec = (argv: readonly string[], options?: RunOptions) => run(harness, harness.id, argv, options);
  const raw = (body: Buffer | string, headers: Readonly<Record<string, string>> = {}) =>
    harness.api('POST', 'exec', { body, headers: { 'content-type': 'application/json', ...headers } });
  const evil = async (session: string, script: string) => exec(['eval', script], { session });

  describe('argv', () => {
    test.each(['-x', '-i', '--version', '-c', '--', '-', '-l', '+x', '-o', '--rcfile', '-s', '-O'])(
      '%s is a command of that name, no option of the shell',
      async (word) => {
        const { code, stderr } = await exec([word, 'id']);
        expect([code, stderr.toString()]).toEqual([127, expect.stringMatching(/not found/)]);
      },
    );

    test.each([
      ['a NUL', { argv: ['echo', 'a\0b'] }],
      ['a NUL in cwd', { argv: ['pwd'], cwd: 'a\0b' }],
      ['an empty program', { argv: ['', 'x'] }],
      ['a number', { argv: ['echo', 1] }],
      ['a list', { argv: ['echo', ['x']] }],
      ['an object with length', { argv: { length: 1, 0: 'id' } }],
      ['a cwd of a list', { argv: ['pwd'], cwd: ['/etc'] }],
      ['a timeout that is text', { argv: ['true'], timeout_ms: '1' }],
      ['a timeout below zero', { argv: ['true'], timeout_ms: -1 }],
      ['a timeout of zero', { argv: ['true'], timeout_ms: 0 }],
      ['a timeout beyond any clock', { argv: ['true'], timeout_ms: 1e300 }],
      ['a timeout beyond the timers', { argv: ['true'], timeout_ms: 2_147_483_648 }],
    ])('is refused with %s', async (_what, json) => {
      expect((await harness.api('POST', 'exec', { json })).status).toBe(400);
    });

    test.each([
      [
        'bytes that are no UTF-8',
        Buffer.from([0x7b, 0x22, 0x61, 0x72, 0x67, 0x76, 0x22, 0x3a, 0x5b, 0x22, 0xff, 0x22, 0x5d, 0x7d]),
      ],
      [
        'overlong UTF-8',
        Buffer.concat([Buffer.from('{"argv":["'), Buffer.from([0xc0, 0xaf]), Buffer.from('"]}')]),
      ],
      ['a timeout of NaN', '{"argv":["true"],"timeout_ms":NaN}'],
      ['a prototype', '{"__proto__":{"argv":["id"]}}'],
      ['a million brackets', '['.repeat(1_000_000)],
    ])('in %s is refused', async (_what, body) => {
      expect((await raw(body)).status).toBe(400);
    });

    test('lone surrogates and marks of ours are words like any other', async () => {
      expect((await raw('{"argv":["printf","%s","\\ud800x"]}')).status).toBe(200);
      const words = [
        'ready\n',
        'whole',
        'event: exit',
        'data: {"exit_code":0}\n\n',
        '\u0001',
        '\u007f',
        '$(id)',
        '`id`',
        "';id;'",
        '\\',
        "\\'",
        '!!',
        '{a,b}',
        '~',
      ];
      for (const options of [{}, { session: 'marks' }, { cwd: '.' }]) {
        expect((await exec(['printf', '%s|', ...words], options)).stdout.toString()).toBe(
          `${words.join('|')}|`,
        );
      }
    });

    test('gets an answer with 100,000 words, or with much text', async () => {
      const words = Array.from({ length: 10_000 }, () => 'word');
      expect((await exec(['eval', 'echo $#', ...words])).last.event).toBe('exit');
      for (const argv of [
        ['true', ...Array.from({ length: 100_000 }, () => 'w')],
        ['true', 'x'.repeat(200_000)],
        ['true', 'x'.repeat(1_000_000)],
      ]) {
        for (const headers of [{}, { 'session-id': 'large' }] as Record<string, string>[]) {
          const answer = await raw(JSON.stringify({ argv }), headers);
          if (answer.status === 200) {
            const { last, code } = readRun(answer.body.toString());
            // Linux accepts 128 KiB for one argument, and the command line is one.
            expect([last.event, code === 126 || code === 0 || code === undefined]).toEqual([
              expect.stringMatching(/exit|error/),
              true,
            ]);
          } else expect([400, 413]).toContain(answer.status);
        }
      }
    });
  });

  describe('a session', () => {
    test.each(['..', 'a/b', 'a b', '', '%2e%2e', 'a..b', 'é', '$(id)', 'a\tb', 'a'.repeat(129)])(
      'has no id %p',
      async (id) => {
        expect((await harness.api('POST', 'session', { json: { id } })).status).toBe(400);
        expect(
          (await harness.api('DELETE', `session/${encodeURIComponent(id)}`)).status,
        ).toBeGreaterThanOrEqual(400);
      },
    );

    test.each(['.', '-rf', '--', '...'.slice(0, 1), '_', 'a'.repeat(128)])(
      'may have the id %p, and is a separate one',
      async (id) => {
        await exec(['export', 'OWN=1'], { session: id });
        expect((await exec(['printenv', 'OWN'], { session: id })).stdout.toString()).toBe('1\n');
        expect((await harness.api('DELETE', `session/${encodeURIComponent(id)}`)).status).toBeLessThan(500);
      },
    );

    test.each<[string, string]>([
      ['set -e', 'set -e; false'],
      ['set -u', 'set -u; echo $NOTHING'],
      ['readonly', 'readonly _porthole_session=/tmp/x _porthole_name=/tmp/y'],
      ['a trap', 'trap - EXIT; exit 3'],
      ['exec', 'exec true'],
      ['exec of its outputs', 'exec >/dev/null 2>&1'],
      [
        'functions named like ours',
        '_porthole_go() { cd /tmp/canary; }; _porthole_save() { echo pwned; }; export -f _porthole_go _porthole_save',
      ],
      [
        'functions named like builtins',
        'cd() { :; }; printf() { :; }; export -f cd printf; trap() { :; }; eval() { :; }',
      ],
      [
        'BASH_ENV and ENV',
        'echo "echo pwned; cd /tmp/canary" > /workspace/env; export BASH_ENV=/workspace/env ENV=/workspace/env',
      ],
      ['PROMPT_COMMAND', 'export PROMPT_COMMAND="cat /tmp/canary/secret"'],
      ['no PATH', 'export PATH='],
      [
        'another PATH',
        'mkdir -p /workspace/bin; printf "#!/bin/sh\\necho /workspace" > /workspace/bin/readlink; cp /workspace/bin/readlink /workspace/bin/env; cp /workspace/bin/env /workspace/bin/pwd; chmod +x /workspace/bin/*; export PATH=/workspace/bin:$PATH',
      ],
      ['IFS', 'export IFS=/o_'],
      ['CDPATH', 'export CDPATH=/tmp:/'],
      ['POSIXLY_CORRECT, SHELLOPTS and BASHOPTS', 'export POSIXLY_CORRECT=1 SHELLOPTS BASHOPTS'],
      ['WORKSPACE', 'export WORKSPACE=/tmp _porthole_root=/tmp'],
      ['TMPDIR', 'export TMPDIR=/workspace/tmp'],
      ['variables named like ours', 'export _porthole_session=/tmp/x _porthole_code=0 _porthole_command=id'],
    ])('with %s stays a session, and its folders stay inside', async (what, script) => {
      const session = what.replace(/[^a-z]/gi, '');
      await exec(['mkdir', '-p', '/workspace/canary']);
      await evil(session, script);
      const refused = await harness.api('POST', 'exec', {
        json: { argv: ['pwd'], cwd: '../tmp/canary' },
        headers: { 'session-id': session },
      });
      expect(refused.status).toBe(403);
      const { code, stdout } = await exec(['builtin', 'pwd', '-P'], { session, cwd: '/workspace/canary' });
      expect([code, stdout.toString()]).toEqual([0, '/workspace/canary\n']);
    });

    test.each<[string, string]>([
      ['a pipe', 'rm "$f"; mkfifo "$f"'],
      ['a folder', 'rm "$f"; mkdir "$f"'],
      ['a link to a device', 'ln -sfn /dev/zero "$f"'],
      ['a link to itself', 'ln -sfn state "$f"'],
      ['a link to the canary', 'ln -sfn /tmp/canary/secret "$f"'],
      ['a file without permissions', 'chmod 0 "$f"'],
      ['rubbish', 'head -c 100000 /dev/urandom > "$f"'],
      ['64 GiB of nothing', 'rm "$f"; truncate -s 64G "$f" || :'],
      ['what ends at once', 'echo exit 0 > "$f"'],
      ['what never ends', 'echo "while :; do sleep 1; done" > "$f"'],
      ['what never ends, and says much', 'echo "while :; do echo x >&2; done" > "$f"'],
    ])(
      'with state %s gets an answer, and reports no command as run',
      async (what, script) => {
        const session = `state-${what.replace(/[^a-z]/gi, '')}`;
        await exec(['export', 'A=1'], { session });
        await harness.sh(`f=/tmp/.porthole-sessions/s-${session}/state; ${script}`);
        const { stdout, code, last } = await exec(['echo', 'ran'], { session });
        expect([last.event, harness.betrays(stdout)]).toEqual([expect.stringMatching(/exit|error/), false]);
        if (stdout.toString() !== 'ran\n') expect(code).not.toBe(0);
        expect((await harness.api('DELETE', `session/${session}`)).status).toBe(204);
        expect((await exec(['echo', 'again'], { session })).stdout.toString()).toBe('again\n');
      },
      30_000,
    );

    test('is made with any environment, which has no say in the making', async () => {
      const env = {
        PATH: '/nowhere',
        TMPDIR: '/workspace/tmp',
        WORKSPACE: '/tmp',
        BASH_ENV: '/workspace/env',
        IFS: '/',
        UID: '0',
        SHELLOPTS: 'x',
        LD_PRELOAD: '/workspace/no.so',
        MOTTO: 'a\nb',
      };
      expect(
        (await harness.api('POST', 'session', { json: { id: 'env', env, cwd: '/workspace/canary' } })).status,
      ).toBe(200);
      expect(
        (await harness.api('POST', 'session', { json: { id: 'env-out', env, cwd: '/workspace/../canary' } }))
          .status,
      ).toBe(403);
      const { stdout } = await exec(['eval', 'echo "$PWD $PATH $TMPDIR $MOTTO"'], { session: 'env' });
      expect(stdout.toString()).toBe('/workspace/canary /nowhere /workspace/tmp a\nb\n');
    });

    test.each<[string, unknown]>([
      ['a name with a NUL', { 'A\0B': '1' }],
      ['a value with a NUL', { A: '1\x002' }],
      ['a name with =', { 'A=B': '1' }],
      ['a name of a function', { 'BASH_FUNC_cd%%': '() { :; }' }],
      ['a name of a subscript', { 'a[$(id)]': '1' }],
      ['no text', { A: 1 }],
      ['128 KiB', { A: 'x'.repeat(131_072) }],
    ])('is not made with %s', async (_what, env) => {
      expect((await harness.api('POST', 'session', { json: { env } })).status).toBe(400);
    });
  });

  test('changes nothing outside, and causes no failure of the host', async () => {
    expect(await harness.outside()).toBe(before);
    expect(harness.logged.filter((line) => /"status":500/.test(line))).toEqual([]);
  });
});
