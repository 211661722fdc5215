/** The listening script, run by the shells that this machine has. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PortholeError } from '#core/errors.ts';
import type { ExecCommand, ExecProcess } from '#core/ports/sandbox-provider.ts';
import { findListeners } from '#core/use-cases/doctor/find-listeners.ts';
import { suite } from '#test/support/suite.ts';

/** Runs the command on this machine, with another shell for `sh`. */
function providerOf(...shell: string[]) {
  return {
    exec: async (_id: string, { argv }: ExecCommand): Promise<ExecProcess> => {
      const [program = '', ...flags] = shell;
      const child: ChildProcess = spawn(program, [...flags, ...argv.slice(1)], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const exited = once(child, 'exit').then(([code]) => ({ code: Number(code) }));
      const { stdout, stderr } = child;
      if (stdout === null || stderr === null) throw new Error('no pipes');
      return {
        stdin: null,
        stdout,
        stderr,
        exited,
        kill: (signal) => void child.kill(signal),
        resize: () => {},
      };
    },
  };
}

describe.each([['dash'], ['bash', '--norc'], ['busybox', 'ash']])('%s', (...shell) => {
  const installed = process.platform === 'linux' && spawnSync(shell[0] ?? '', ['--help']).error === undefined;
  suite('tells what listens', installed ? undefined : `needs Linux and ${shell[0]}`, () => {
    let servers: Server[];
    const portOf = (server: Server) => (server.address() as AddressInfo).port;

    beforeAll(async () => {
      servers = ['127.0.0.1', '::', '::1'].map((host) => createServer().listen(0, host));
      await Promise.all(servers.map((server) => once(server, 'listening')));
    });
    afterAll(() => {
      for (const server of servers) server.close();
    });

    test('with port, address and process', async () => {
      const found = await findListeners({ provider: providerOf(...shell) }, 'me');
      const ours = servers.map((server) => found?.find(({ port }) => port === portOf(server)));
      expect(ours.map((each) => [each?.addresses, each?.process?.pid])).toEqual([
        [['127.0.0.1'], process.pid],
        [['::'], process.pid],
        [['::1'], process.pid],
      ]);
      expect(ours[0]?.process?.command).toContain('node');
    });
  });
});

describe('a sandbox that cannot tell what listens', () => {
  const saying = (write: (stdout: PassThrough) => void, exited = new Promise<never>(() => {})) => {
    const killed: string[] = [];
    const provider = {
      exec: async (_id: string, _command: ExecCommand, signal?: AbortSignal): Promise<ExecProcess> => {
        const stdout = new PassThrough();
        signal?.addEventListener('abort', () => stdout.destroy(signal.reason as Error));
        write(stdout);
        const stderr = new PassThrough();
        return {
          stdin: null,
          stdout,
          stderr,
          exited,
          kill: (signal) => void killed.push(signal),
          resize: () => {},
        };
      },
    };
    return { provider, killed };
  };

  test('because it has no tables, is not taken for one where nothing listens', async () => {
    const { provider } = saying((stdout) => stdout.end(''));
    expect(await findListeners({ provider }, 'me')).toBeUndefined();
  });

  test('because its shell was ended in the middle, does not tell half', async () => {
    const { provider } = saying((stdout) => stdout.end('listens 00000000:0BB8 1\n'));
    expect(await findListeners({ provider }, 'me')).toBeUndefined();
  });

  test('because it says too much, is killed and not read on', async () => {
    let pushed = 0;
    const { provider, killed } = saying((stdout) => {
      const more = (): void => {
        if (stdout.destroyed) return;
        pushed += 65_536;
        stdout.write(Buffer.alloc(65_536, 'listens 00000000:0BB8 1\n'), () => setImmediate(more));
      };
      more();
    });
    expect(await findListeners({ provider }, 'me')).toBeUndefined();
    expect(killed).toEqual(['SIGKILL']);
    expect(pushed).toBeLessThan(1_048_576);
  });

  test('whoever asked and went away gets the reason', async () => {
    const { provider } = saying(() => {});
    const gone = new AbortController();
    const asking = findListeners({ provider }, 'me', gone.signal);
    gone.abort(new Error('gone'));
    await expect(asking).rejects.toThrow('gone');
  });

  test('and cannot be reached is an error', async () => {
    const provider = { exec: () => Promise.reject(new PortholeError('exec_transport_error', 'lost')) };
    await expect(findListeners({ provider }, 'me')).rejects.toMatchObject({ code: 'exec_transport_error' });
  });
});
