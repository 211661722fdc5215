import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { DockerProvider } from '#adapters/docker/docker-provider.ts';
import { eventually, run, sandboxId, serve, until } from '#test/contracts/sandbox-provider.contract.ts';
import type { TestProvider } from '#test/support/with-guests.ts';
import type { TestEngine } from './engine.ts';

/** What code in a container cannot do, and what becomes of the container when it tries. */
export function confinedContainer(engine: () => TestEngine): void {
  describe('in a sandbox of it', () => {
    let provider: DockerProvider & TestProvider;
    const id = sandboxId();
    const sh = (script: string) => run(provider, id, ['sh', '-c', script]);

    beforeAll(async () => {
      provider = engine().openProvider({
        limits: { memoryMb: 256, pids: 64, diskMb: 16, cpu: 1_000 },
      });
      await provider.create({ id });
    });
    afterAll(async () => {
      await provider.destroy(id);
      await provider.close();
    });

    test('code has no right, no way to one, no network, and a system-call filter', async () => {
      const script =
        "id -u; grep -E '^(CapPrm|CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status; tail -n +3 /proc/net/dev | grep -o '[a-z0-9]*:'";
      expect((await sh(script)).stdout.split(/\s+/)).toEqual([
        '1000',
        'CapPrm:',
        '0000000000000000',
        'CapEff:',
        '0000000000000000',
        'CapBnd:',
        '0000000000000000',
        'NoNewPrivs:',
        '1',
        'Seccomp:',
        '2',
        'lo:',
        '',
      ]);
    });

    test('can write to /workspace, /tmp and its home alone, and execute there', async () => {
      const script = `for each in / /usr /etc /run/porthole /workspace /tmp "$HOME"; do
        printf '#!/bin/sh\\n' >"$each/mark" 2>/dev/null && chmod +x "$each/mark" && "$each/mark" && echo "$each"; rm -f "$each/mark" 2>/dev/null; done`;
      expect((await sh(script)).stdout.split('\n')).toEqual(['/workspace', '/tmp', '/home/sandbox', '']);
    });

    test('processes beyond the limit cannot be started, and commands run again once they are gone', async () => {
      const bomb = 'for n in $(seq 200); do sleep 1000 & done; echo all';
      const { stdout, stderr } = await sh(bomb);
      expect(stdout).toBe('');
      expect(stderr).toMatch(/fork/i);
      await provider.stop(id);
      await provider.resume(id);
      expect((await sh('echo up')).stdout).toBe('up\n');
    });

    test('memory beyond the limit is not to be had, and the sandbox lives on', async () => {
      const eat = 'const all = []; for (;;) all.push(Buffer.alloc(16 * 1024 * 1024, 1));';
      expect((await run(provider, id, ['node', '-e', eat])).exit).toEqual({ signal: 'SIGKILL' });
      expect((await sh('echo up')).stdout).toBe('up\n');
    });

    test('lets no file grow beyond the limit of the disk', async () => {
      const { stdout } = await sh('head -c 20000000 /dev/zero >big 2>/dev/null; wc -c <big; rm big');
      expect(Number(stdout)).toBe(16 * 1024 * 1024);
    });

    test('leaves no process of a command behind, dead or alive', async () => {
      const processes = async (): Promise<number> => Number((await sh('ls -d /proc/[0-9]* | wc -l')).stdout);
      const before = await processes();
      for (let number = 0; number < 10; number += 1) await run(provider, id, ['cat'], { input: 'x' });
      await sh('(sleep 0.01 &) ; true');
      expect(await eventually(async () => (await processes()) <= before)).toBe(true);
      expect((await sh('ls -A /tmp')).stdout).toBe('');
    });

    test('keeps running after a command ends every process it can reach', async () => {
      await sh('kill -9 -1; sleep 1').catch(() => {});
      expect(await provider.inspect(id)).toMatchObject({ state: 'running' });
      expect((await sh('echo up')).stdout).toBe('up\n');
    });

    test('passes a typed Ctrl-P through at once, although engines look for it', async () => {
      const script = 'stty raw -echo; echo ready; head -c 1 | od -An -tx1';
      const process = await provider.exec(id, {
        argv: ['sh', '-c', script],
        stdin: true,
        tty: { cols: 80, rows: 24 },
      });
      await until(process.stdout, 'ready');
      process.stdin?.write('\x10');
      expect(await until(process.stdout, '10')).toContain('10');
      process.stdout.resume();
      await process.exited;
    });

    test('cuts off a stream to a port when the sandbox stops', async () => {
      const stream = await provider.dial(id, await serve(provider, id, 'here'));
      await until(stream, 'here:');
      const lost = once(stream, 'error');
      await provider.stop(id);
      expect(await lost).toMatchObject([{ code: 'exec_transport_error' }]);
      await provider.resume(id);
    });

    test('loses the streams of a relay that code in the sandbox kills, and gives the next command another relay', async () => {
      const killed = await run(provider, id, [
        'sh',
        '-c',
        'for p in /proc/[0-9]*; do grep -qa "rela[y]" "$p/cmdline" && kill -9 "${p#/proc/}"; done; sleep 5',
      ]).catch((error: unknown) => error);
      expect(killed).toMatchObject({ code: 'exec_transport_error' });
      expect((await sh('echo up')).stdout).toBe('up\n');
    });

    test('lets nothing in the sandbox take the guest’s socket, or its place as the first process', async () => {
      const script = `const { createServer } = require('node:net');
        const name = require('node:fs').readFileSync('/proc/net/unix', 'utf8').match(/@(porthole-\\S+)/)[1];
        createServer().on('error', (error) => console.log(error.code)).listen('\\0' + name);
        try { process.kill(1, 'SIGKILL'); } catch {}`;
      expect((await run(provider, id, ['node', '-e', script])).stdout).toBe('EADDRINUSE\n');
      expect((await sh('tr "\\0" " " </proc/1/comm')).stdout).toContain('porthole-guest');
    });
  });
}
