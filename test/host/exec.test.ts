import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { request } from 'node:http';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { execute, readEvents } from './support/commands.ts';
import { makeRun } from './support/runs.ts';

describe('running a command', () => {
  let porthole: TestHost;
  let id: string;
  beforeAll(async () => {
    porthole = await startTestHost();
    ({ sandboxId: id } = await makeRun(porthole));
  });
  afterAll(() => porthole.end());

  const exec = (body: unknown) => porthole.call('POST', `/v1/sandbox/${id}/exec`, { body });
  const sh = (script: string) => execute(porthole, id, ['sh', '-c', script]);

  test('answers events, byte for byte', async () => {
    const answer = await exec({ argv: ['echo', 'hello'] });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('text/event-stream');
    expect(answer.headers['cache-control']).toBe('no-cache');
    expect(answer.text).toBe('event: stdout\ndata: aGVsbG8K\n\nevent: exit\ndata: {"exit_code":0}\n\n');
  });

  test('stderr has events of its own', async () => {
    expect((await exec({ argv: ['sh', '-c', 'echo no >&2; exit 3'] })).text).toBe(
      'event: stderr\ndata: bm8K\n\nevent: exit\ndata: {"exit_code":3}\n\n',
    );
  });

  test('silence is one event', async () => {
    expect((await exec({ argv: ['true'] })).text).toBe('event: exit\ndata: {"exit_code":0}\n\n');
  });

  test.each<[string, string[], number]>([
    ['success', ['true'], 0],
    ['failure', ['false'], 1],
    ['any code', ['sh', '-c', 'exit 255'], 255],
    ['a program that is not there', ['no-such-program'], 127],
    ['a file that is no program', ['/etc/hostname/x'], 126],
    ['a signal', ['sh', '-c', 'kill -TERM $$'], 143],
    ['a crash', ['sh', '-c', 'kill -SEGV $$'], 139],
  ])('exit code of %s', async (name, argv, code) => {
    // What is no directory is not found on some systems.
    const { exitCode } = await execute(porthole, id, argv);
    if (name === 'a file that is no program') expect([126, 127]).toContain(exitCode);
    else expect(exitCode).toBe(code);
  });

  test('every byte arrives as it is', async () => {
    const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    await porthole.call('PUT', `/v1/sandbox/${id}/file/workspace/all-bytes`, { body: all });
    expect((await execute(porthole, id, ['cat', 'all-bytes'])).stdout.equals(all)).toBe(true);
  });

  test('8 MiB arrive whole and in order', async () => {
    const { stdout, exitCode } = await sh(
      'seq 1 1000000 | head -c 8388608 | tee copy | sha256sum; cat copy >&2',
    );
    const { stderr } = await execute(porthole, id, ['sh', '-c', 'sha256sum < copy >&2']);
    expect(exitCode).toBe(0);
    expect(stdout.toString()).toBe(stderr.toString());
  });

  test.each<[string, string[], string]>([
    ['spaces', ['printf', '%s|', 'a b', ' c '], 'a b| c |'],
    ['quotes', ['printf', '%s|', `it's`, '"x"', '`id`', '$(id)', '$HOME'], `it's|"x"|\`id\`|$(id)|$HOME|`],
    ['newlines and tabs', ['printf', '%s|', 'a\nb\tc\r'], 'a\nb\tc\r|'],
    ['backslashes', ['printf', '%s|', '\\n', '\\', '\\\\'], '\\n|\\|\\\\|'],
    ['an empty word', ['printf', '[%s]', '', 'x'], '[][x]'],
    ['UTF-8', ['printf', '%s', 'naïve – 窓 🪟'], 'naïve – 窓 🪟'],
    [
      'what a shell would expand',
      ['printf', '%s|', '*', '~', '{a,b}', '!!', '-n', ';', '&&', '|'],
      '*|~|{a,b}|!!|-n|;|&&|||',
    ],
  ])('words with %s arrive as they are', async (_name, argv, printed) => {
    expect((await execute(porthole, id, argv)).stdout.toString()).toBe(printed);
  });

  test('cwd counts from the workspace', async () => {
    await sh('mkdir -p sub/deep');
    const at = async (cwd: string) =>
      (await execute(porthole, id, ['pwd'], { cwd })).stdout.toString().trim();
    const top = (await execute(porthole, id, ['pwd'])).stdout.toString().trim();
    expect([await at('/workspace/sub'), await at('sub/deep'), await at('sub/../sub')]).toEqual([
      `${top}/sub`,
      `${top}/sub/deep`,
      `${top}/sub`,
    ]);
  });

  test('past its time limit it ends with 124 and a line that says so', async () => {
    const { exitCode, stderr, events } = await execute(porthole, id, ['sleep', '60'], { timeout_ms: 100 });
    expect(exitCode).toBe(124);
    expect(stderr.toString()).toBe('Command timed out after 100ms\n');
    expect(events.map(({ event }) => event)).toEqual(['stderr', 'exit']);
  });

  test('what it printed before its time limit is there', async () => {
    const { exitCode, stdout } = await execute(porthole, id, ['sh', '-c', 'echo begun; exec sleep 60'], {
      timeout_ms: 500,
    });
    expect([exitCode, stdout.toString()]).toEqual([124, 'begun\n']);
  });

  test('a time limit that is not reached changes nothing', async () => {
    expect((await execute(porthole, id, ['echo', 'quick'], { timeout_ms: 60_000 })).events).toEqual([
      { event: 'stdout', data: 'cXVpY2sK' },
      { event: 'exit', data: '{"exit_code":0}' },
    ]);
  });

  test('events come while it runs', async () => {
    const seen: string[] = [];
    await new Promise<void>((resolve, reject) => {
      const outgoing = request(
        {
          port: porthole.host.port,
          host: '127.0.0.1',
          method: 'POST',
          path: `/v1/sandbox/${id}/exec`,
          headers: { 'content-type': 'application/json' },
        },
        (response) => {
          response.on('data', (chunk: Buffer) => {
            seen.push(chunk.toString());
            // Only now may it go on: had nothing come before its end, this would wait for ever.
            if (seen.length === 1)
              porthole.call('PUT', `/v1/sandbox/${id}/file/workspace/go`, { body: '' }).catch(reject);
          });
          response.once('end', resolve);
        },
      );
      outgoing.end(
        JSON.stringify({
          argv: ['sh', '-c', 'echo first; while [ ! -e go ]; do sleep 0.02; done; echo second'],
        }),
      );
    });
    expect(readEvents(seen.join('')).map(({ event }) => event)).toEqual(['stdout', 'stdout', 'exit']);
  });

  test('when the client goes away, the whole process group is killed', async () => {
    await new Promise<void>((resolve, reject) => {
      const outgoing = request(
        {
          port: porthole.host.port,
          host: '127.0.0.1',
          method: 'POST',
          path: `/v1/sandbox/${id}/exec`,
          headers: { 'content-type': 'application/json' },
        },
        (response) => {
          response.once('data', () => {
            response.destroy();
            resolve();
          });
        },
      );
      outgoing.once('error', reject);
      outgoing.end(
        JSON.stringify({
          argv: ['sh', '-c', 'sleep 3333 & echo $! > child; echo $$ > parent; echo up; wait'],
        }),
      );
    });
    const { stdout } = await sh(
      'n=0; while kill -0 $(cat child) 2>/dev/null || kill -0 $(cat parent) 2>/dev/null; do sleep 0.02; n=$((n+1)); [ $n -gt 500 ] && echo alive && exit; done; echo dead',
    );
    expect(stdout.toString()).toBe('dead\n');
  });

  test('what it leaves in the background runs on', async () => {
    await sh('(while :; do date +%s%N > beat; sleep 0.02; done) >/dev/null 2>&1 </dev/null &');
    const { stdout } = await sh(
      'a=$(cat beat); n=0; while [ "$(cat beat)" = "$a" ] && [ $n -lt 500 ]; do sleep 0.02; n=$((n+1)); done; [ "$(cat beat)" != "$a" ] && echo beats',
    );
    expect(stdout.toString()).toBe('beats\n');
  });

  test('16 at once keep their outputs apart', async () => {
    const outputs = await Promise.all(
      Array.from({ length: 16 }, (_, n) => execute(porthole, id, ['sh', '-c', `seq ${n} ${n + 2000}`])),
    );
    outputs.forEach(({ stdout, exitCode }, n) => {
      const lines = stdout.toString().trim().split('\n');
      expect([exitCode, lines.length, lines[0], lines.at(-1)]).toEqual([
        0,
        2001,
        String(n),
        String(n + 2000),
      ]);
    });
  });

  test('a sandbox that is deleted meanwhile ends it with an error event, never with an exit code', async () => {
    const { sandboxId } = await makeRun(porthole);
    const events = new Promise<string>((resolve, reject) => {
      const outgoing = request(
        {
          port: porthole.host.port,
          host: '127.0.0.1',
          method: 'POST',
          path: `/v1/sandbox/${sandboxId}/exec`,
          headers: { 'content-type': 'application/json' },
        },
        (response) => {
          let text = '';
          response.on('data', (chunk: Buffer) => {
            if (text === '')
              porthole.call('DELETE', `/v1/sandbox/${sandboxId}`).then(() => undefined, reject);
            text += chunk.toString();
          });
          response.once('end', () => resolve(text));
          response.once('error', reject);
        },
      );
      outgoing.once('error', reject);
      outgoing.end(JSON.stringify({ argv: ['sh', '-c', 'echo up; sleep 3333'] }));
    });
    const [, last, ...rest] = readEvents(await events);
    expect(rest).toEqual([]);
    expect(last?.event).toBe('error');
    expect(JSON.parse(last?.data ?? '')).toMatchObject({ code: 'exec_transport_error' });
  });
});
