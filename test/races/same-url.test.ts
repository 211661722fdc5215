import { afterEach, describe, expect, test } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalProvider } from '#adapters/local/local-provider.ts';
import { type HostProcess, startHostProcess } from '#test/support/host-process.ts';
import { type Answer, type Call, call } from '#test/support/in-process-host.ts';
import { withGuests } from '#test/support/with-guests.ts';

/** Answers with its first argument, on port 3000. */
const SERVER = `require('http').createServer((_, answer) => answer.end(process.argv[1])).listen(3000, '127.0.0.1')`;

interface Session {
  readonly session_id: string;
  readonly preview_url: string;
  readonly ready: boolean;
}

describe('the URL of a port', () => {
  let dataDir: string | undefined;
  let host: HostProcess | undefined;
  afterEach(async () => {
    await host?.end('SIGKILL');
    host = undefined;
    if (dataDir === undefined) return;
    const provider = withGuests(createLocalProvider({ dataDir }));
    for await (const id of provider.list()) await provider.destroy(id);
    await provider.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  const up = async () => {
    dataDir ??= await mkdtemp(join(tmpdir(), 'porthole-same-url-'));
    host = await startHostProcess({ dataDir });
  };
  const ask = (method: string, path: string, options?: Call): Promise<Answer> =>
    call(host?.port ?? 0, method, path, options);
  const start = async (run: string, body: object = {}): Promise<Session> => {
    const answer = await ask('POST', `/api/runs/${run}/sandbox/port-forward`, {
      body: { target_port: 3000, ...body },
    });
    expect(answer.status).toBe(200);
    return answer.json<Session>();
  };
  const visit = ({ session_id: token }: Session) => ask('GET', '/', { host: `${token}-preview.localhost` });
  const exec = (sandbox: string, ...argv: string[]) =>
    ask('POST', `/v1/sandbox/${sandbox}/exec`, { body: { argv } });
  /** Leaves a server in the background, and waits until it answers. */
  const serve = async (sandbox: string, session: Session, says: string) => {
    await exec(sandbox, 'bash', '-c', `node -e "${SERVER}" ${says} > /dev/null 2>&1 & echo $! > server.pid`);
    await until(async () => (await visit(session)).text === says);
  };
  const until = async (holds: () => Promise<boolean>) => {
    while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
  };

  test('stays through restarts of the server, the sandbox and the host, and changes with a stop', async () => {
    await up();
    const run = (await ask('POST', '/api/runs', { body: {} })).json<{ run_id: string; sandbox_id: string }>();
    const { run_id: id, sandbox_id: sandbox } = run;
    const first = await start(id);
    expect(first.ready).toBe(false);
    await serve(sandbox, first, 'one');

    // Ends the server.
    await exec(sandbox, 'bash', '-c', 'kill $(cat server.pid)');
    await until(async () => (await visit(first)).status === 502);
    await serve(sandbox, first, 'two');
    expect((await start(id)).session_id).toBe(first.session_id);

    // Asks the host to end; processes in the sandbox may end with it.
    await host?.end('SIGTERM');
    await up();
    await until(async () => (await exec(sandbox, 'true')).status === 200);
    expect((await start(id)).session_id).toBe(first.session_id);
    if ((await visit(first)).status !== 200) await serve(sandbox, first, 'three');

    // Kills the host.
    await host?.end('SIGKILL');
    await up();
    expect((await start(id)).session_id).toBe(first.session_id);
    expect((await visit(first)).status).toBe(200);

    // Stops and resumes the sandbox while no host runs.
    await host?.end('SIGKILL');
    const provider = withGuests(createLocalProvider({ dataDir: dataDir ?? '' }));
    await provider.stop(sandbox);
    await provider.resume(sandbox);
    await provider.close();
    await up();
    const after = await start(id);
    expect([after.session_id, after.ready]).toEqual([first.session_id, false]);
    await serve(sandbox, first, 'four');

    // After an explicit stop the URL changes permanently.
    const stopped = await ask('DELETE', `/api/runs/${id}/sandbox/port-forward/${first.session_id}`);
    expect(stopped.status).toBe(200);
    expect((await visit(first)).status).toBe(410);
    const second = await start(id);
    expect(second.session_id).not.toBe(first.session_id);
    expect((await visit(second)).text).toBe('four');
    await host?.end('SIGKILL');
    await up();
    expect((await visit(first)).status).toBe(410);
    expect((await start(id)).session_id).toBe(second.session_id);

    // A rotation changes it as well.
    const third = await start(id, { rotate: true });
    expect(new Set([first, second, third].map((session) => session.session_id)).size).toBe(3);
    expect((await visit(second)).status).toBe(410);
    expect((await start(id)).session_id).toBe(third.session_id);
  }, 120_000);
});
