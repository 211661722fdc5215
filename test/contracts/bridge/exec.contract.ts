import { describe, expect, test } from '@jest/globals';
import { request } from 'node:http';
import type { UnderTest } from '../bridge.contract.ts';
import { ask, put, refusal, run } from './bridge-client.ts';
import { repetitions } from '#test/support/suite.ts';

export function execContract(bridge: UnderTest, id: () => string): void {
  describe('exec', () => {
    const exec = (argv: readonly string[], more?: Parameters<typeof run>[3]) =>
      run(bridge(), id(), argv, more);
    const post = (json: unknown) => ask(bridge(), 'POST', `/v1/sandbox/${id()}/exec`, { json });

    test('answers with the events of the command', async () => {
      const answer = await post({ argv: ['sh', '-c', 'printf out; exec printf err >&2'] });
      expect([answer.status, answer.headers['content-type'], answer.headers['cache-control']]).toEqual([
        200,
        'text/event-stream',
        'no-cache',
      ]);
      const text = answer.body.toString();
      expect(text).toContain('event: stdout\ndata: b3V0\n\n');
      expect(text).toContain('event: stderr\ndata: ZXJy\n\n');
      expect(text.endsWith('event: exit\ndata: {"exit_code":0}\n\n')).toBe(true);
    });

    test.each<[string, string[], number]>([
      ['a builtin', ['exit', '42'], 42],
      ['a change of folder', ['cd', '/'], 0],
      ['an assignment', ['A=1', 'true'], 0],
      ['an export', ['export', 'A=1'], 0],
      ['a program', ['sh', '-c', 'exit 7'], 7],
      ['a program that is not there', ['no-such-program'], 127],
      ['a command that a signal ends', ['sh', '-c', 'kill -KILL $$'], 137],
    ])('%s has its exit code', async (_what, argv, code) => {
      expect((await exec(argv)).code).toBe(code);
    });

    test.each([
      ['spaces', 'a  b'],
      ['quotes', `it's "so"`],
      ['a backslash', 'a\\b\\n'],
      ['a newline, a tab, a return', 'a\nb\tc\rd'],
      ['a dollar, a backtick', '$HOME `id` $(id)'],
      ['a glob', '*?[a]'],
      ['UTF-8', 'é 漢 🚀'],
      ['a leading dash', '-n'],
      ['nothing', ''],
      ['history and comments', '!x #y ~z'],
      ['an underscore', '_a'],
      ['operators of a shell', '; && | {a,b} ~'],
    ])('passes a word with %s unchanged', async (_what, word) => {
      const { stdout } = await exec(['printf', '%s|', word]);
      expect(stdout.toString()).toBe(`${word}|`);
    });

    test('takes a script of many lines as one word', async () => {
      const script = `cat <<'EOF'\n$not 'expanded' "here"\nEOF\nfor i in 1 2 3; do\n  printf '%s\\n' "$i"\ndone\n`;
      expect((await exec(['bash', '-c', script])).stdout.toString()).toBe(
        `$not 'expanded' "here"\n1\n2\n3\n`,
      );
    });

    test('output is the very bytes', async () => {
      const every = Array.from({ length: 256 }, (_, byte) => `\\${byte.toString(8).padStart(3, '0')}`).join(
        '',
      );
      const { stdout } = await exec(['printf', every]);
      expect(stdout.equals(Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)))).toBe(true);
    });

    test('returns 5 MB of output whole', async () => {
      const { stdout, code } = await exec(['sh', '-c', 'yes 0123456 | head -c 5000000']);
      expect([code, stdout.length]).toEqual([0, 5_000_000]);
      expect(stdout.equals(Buffer.from('0123456\n'.repeat(625_000)))).toBe(true);
    });

    test('reads nothing on its input', async () => {
      expect((await exec(['cat'])).code).toBe(0);
    });

    test('finds bash, a POSIX shell and the tools that clients use; /tmp holds programs', async () => {
      const tools = 'bash sh mkdir chmod test ls readlink dirname basename wc tr cat tar sha256sum';
      const script = `for t in ${tools}; do command -v "$t" >/dev/null || echo "no $t"; done
printf '#!/bin/sh\\necho ran\\n' > /tmp/tool && chmod +x /tmp/tool && /tmp/tool`;
      expect((await exec(['sh', '-c', script])).stdout.toString()).toBe('ran\n');
    });

    describe('its folder', () => {
      test('is the workspace', async () => {
        expect((await exec(['pwd'])).stdout.toString()).toBe('/workspace\n');
      });

      test.each([
        ['absolute', '/workspace/inner', '/workspace/inner'],
        ['relative to the workspace', 'inner', '/workspace/inner'],
        ['with dots that stay inside', 'inner/../inner/.', '/workspace/inner'],
      ])('may be %s', async (_what, cwd, expected) => {
        await exec(['mkdir', '-p', 'inner']);
        expect((await exec(['pwd'], { cwd })).stdout.toString()).toBe(`${expected}\n`);
      });

      test.each([
        ['outside', '/etc'],
        ['climbing out', '../etc'],
        ['beginning like it', '/workspace2'],
        ['the root', '/'],
      ])('is refused when it is %s', async (_what, cwd) => {
        expect(refusal(await post({ argv: ['pwd'], cwd }))).toEqual([
          403,
          'invalid_request',
          'cwd must resolve to a location within /workspace',
        ]);
      });

      test('is refused when a link leads out of the workspace', async () => {
        await exec(['ln', '-sfn', '/etc', 'out']);
        expect((await post({ argv: ['pwd'], cwd: 'out' })).status).toBe(403);
      });

      test('causes an error event when it is not there', async () => {
        const { last } = await exec(['pwd'], { cwd: 'nowhere' });
        expect(last.event).toBe('error');
        expect(JSON.parse(last.data)).toEqual({
          error: 'cwd does not exist: /workspace/nowhere',
          code: 'exec_error',
          retryable: false,
        });
      });
    });

    test.each<[string, string | Buffer]>([
      ['what is no JSON', '{"argv":'],
      ['nothing but a word', 'argv'],
    ])('%s is refused', async (_what, body) => {
      const answer = await ask(bridge(), 'POST', `/v1/sandbox/${id()}/exec`, {
        body,
        headers: { 'content-type': 'application/json' },
      });
      expect(refusal(answer)).toEqual([400, 'invalid_request', 'Invalid JSON body']);
    });

    test.each([
      ['nothing', {}],
      ['an empty list', { argv: [] }],
      ['a text', { argv: 'ls' }],
      ['null', { argv: null }],
    ])('rejects argv that is %s', async (_what, json) => {
      expect(refusal(await post(json))).toEqual([400, 'invalid_request', 'argv must be a non-empty array']);
    });

    test('rejects argv of objects, without a failure of the bridge', async () => {
      expect((await post({ argv: [{}] })).status).toBe(400);
      expect((await post({ argv: ['echo', 1] })).status).toBe(400);
    });

    test('treats null as not given', async () => {
      expect((await post({ argv: ['true'], timeout_ms: null, cwd: null })).status).toBe(200);
    });

    describe('a time limit', () => {
      test('ends the command with 124, and says so', async () => {
        const ran = await exec(['sleep', '30'], { timeout_ms: 300 });
        expect([ran.code, ran.stderr.toString()]).toEqual([124, 'Command timed out after 300ms\n']);
      });

      test('ends everything that the command started', async () => {
        await exec(['sh', '-c', 'sleep 34.5 & sleep 34.5'], { timeout_ms: 300 });
        expect((await exec(['sh', '-c', COUNT, 'sh', 'sleep 34.5'])).stdout.toString()).toBe('0\n');
      });

      test('ends a command that ignores SIGTERM, within 5 s', async () => {
        const began = performance.now();
        const ran = await exec(['sh', '-c', `trap '' TERM; echo up; while :; do sleep 0.2; done`], {
          timeout_ms: 300,
        });
        expect([ran.code, ran.stdout.toString()]).toEqual([124, 'up\n']);
        expect(performance.now() - began).toBeLessThan(300 + 5_000);
      });

      test('does nothing to a command that ends before', async () => {
        expect((await exec(['echo', 'quick'], { timeout_ms: 20_000 })).code).toBe(0);
      });
    });

    test('ends a command and all of its group when its client goes away', async () => {
      await new Promise<void>((resolve, reject) => {
        const outgoing = request(
          {
            host: '127.0.0.1',
            port: bridge().port,
            method: 'POST',
            path: `/v1/sandbox/${id()}/exec`,
            agent: false,
            headers: { authorization: `Bearer ${bridge().key}`, 'content-type': 'application/json' },
          },
          (response) => {
            response.once('data', () => {
              response.once('close', resolve);
              response.destroy();
            });
          },
        );
        outgoing.once('error', reject);
        outgoing.end(JSON.stringify({ argv: ['sh', '-c', 'echo up; sleep 35.5 & sleep 35.5'] }));
      });
      // The sandbox is notified at once, but the call does not wait for it.
      for (let left = '?'; left !== '0\n'; ) {
        left = (await exec(['sh', '-c', COUNT, 'sh', 'sleep 35.5'])).stdout.toString();
      }
    });

    test('keeps what a command leaves in the background running, and does not hold the answer', async () => {
      const ran = await exec(['sh', '-c', 'sleep 36.5 & echo left']);
      expect([ran.code, ran.stdout.toString()]).toEqual([0, 'left\n']);
      expect((await exec(['sh', '-c', COUNT, 'sh', 'sleep 36.5'])).stdout.toString()).toBe('1\n');
      await exec(['sh', '-c', `${FIND} kill $(find_all)`, 'sh', 'sleep 36.5']);
    });

    test('runs 50 commands at once, and many one after the other, each with its own output', async () => {
      const reported = await Promise.all(Array.from({ length: 50 }, (_, at) => exec(['echo', String(at)])));
      expect(reported.map(({ stdout }) => stdout.toString())).toEqual(
        Array.from({ length: 50 }, (_, at) => `${at}\n`),
      );
      for (let at = 0; at < repetitions(200); at += 1) {
        expect((await exec(['echo', String(at)])).stdout.toString()).toBe(`${at}\n`);
      }
    }, 240_000);

    describe('for a client that wants JSON', () => {
      const collect = (argv: readonly string[], more: object = {}, accept = 'application/json') =>
        ask(bridge(), 'POST', `/v1/sandbox/${id()}/exec`, { json: { argv, ...more }, headers: { accept } });

      test('is one answer at the end', async () => {
        const answer = await collect(['sh', '-c', 'printf out; printf err >&2; exit 3']);
        expect([answer.status, answer.headers['content-type'], answer.headers['vary']]).toEqual([
          200,
          'application/json',
          'accept',
        ]);
        expect(answer.json()).toEqual({
          exit_code: 3,
          stdout: 'out',
          stderr: 'err',
          timed_out: false,
          truncated: false,
        });
      });

      test('keeps the first MiB of each stream, and lets the command end', async () => {
        const script =
          'head -c 5000000 /dev/zero | tr "\\0" o; head -c 3000000 /dev/zero | tr "\\0" e >&2; exit 4';
        const answer = await collect(['sh', '-c', script]);
        expect(answer.json()).toEqual({
          exit_code: 4,
          stdout: 'o'.repeat(1_048_576),
          stderr: 'e'.repeat(1_048_576),
          timed_out: false,
          truncated: true,
        });
      });

      test('keeps exactly a MiB whole, and no half of a character', async () => {
        const exact = (await collect(['sh', '-c', 'head -c 1048576 /dev/zero | tr "\\0" o'])).json<{
          stdout: string;
          truncated: boolean;
        }>();
        expect([exact.stdout.length, exact.truncated]).toEqual([1_048_576, false]);
        const script = 'head -c 1048575 /dev/zero | tr "\\0" o; printf "é"';
        const half = (await collect(['sh', '-c', script])).json<{ stdout: string; truncated: boolean }>();
        expect([half.stdout.length, half.stdout.at(-1), half.truncated]).toEqual([1_048_575, 'o', true]);
      });

      test('tells what is no text as U+FFFD', async () => {
        const answer = await collect(['printf', 'a\\377\\000é']);
        expect(answer.json()).toMatchObject({ stdout: 'a\ufffd\0é' });
      });

      test('says that the time limit struck', async () => {
        const answer = await collect(['sh', '-c', 'echo began; sleep 60'], { timeout_ms: 300 });
        expect(answer.json()).toEqual({
          exit_code: 124,
          stdout: 'began\n',
          stderr: '',
          timed_out: true,
          truncated: false,
        });
      });

      test('refuses a folder that is not there', async () => {
        expect(refusal(await collect(['true'], { cwd: '/workspace/nowhere' }))).toEqual([
          400,
          'exec_error',
          'cwd does not exist: /workspace/nowhere',
        ]);
      });

      test.each<[string, string]>([
        ['application/json', 'application/json'],
        ['application/json, text/event-stream;q=0.5', 'application/json'],
        ['application/*', 'application/json'],
        ['application/json;charset=utf-8;q=0.2', 'application/json'],
        ['*/*, text/event-stream;q=0.9', 'application/json'],
        ['*/*', 'text/event-stream'],
        ['text/event-stream', 'text/event-stream'],
        ['application/json, text/event-stream', 'text/event-stream'],
        ['application/json, text/plain, */*', 'text/event-stream'],
        ['application/json;q=0.5, text/event-stream', 'text/event-stream'],
        ['application/json;q=much', 'text/event-stream'],
        ['application/json;q=0', 'text/event-stream'],
        ['', 'text/event-stream'],
      ])('Accept: %s is answered as %s', async (accept, type) => {
        expect((await collect(['true'], {}, accept)).headers['content-type']).toBe(type);
      });
    });

    test('runs a file that was just written', async () => {
      await put(bridge(), id(), 'workspace/script.sh', 'echo from a file');
      expect((await exec(['sh', 'script.sh'])).stdout.toString()).toBe('from a file\n');
    });
  });
}

/** `find_all`: the processes with the command line `$1`, by /proc: not every image has pgrep. */
const FIND = `find_all() { for p in /proc/[0-9]*; do
  [ "$(tr '\\0' ' ' < "$p/cmdline" 2>/dev/null)" = "$wanted " ] && case "$(cat "$p/stat" 2>/dev/null)" in *') Z '*) ;; *) echo "\${p#/proc/}" ;; esac; done; }; wanted=$1;`;
const COUNT = `${FIND} find_all | wc -l | tr -d ' '`;
