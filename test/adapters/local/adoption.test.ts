/** A host that dies by SIGKILL, and the next one on the same folder. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { afterEach, beforeAll, afterAll, expect, test } from '@jest/globals';
import { DrivenHost, type HostPlace, prepare } from '#test/adapters/local/driven-host.ts';
import { comesTrue, processesWith } from '#test/adapters/local/host-processes.ts';
import { missingFor } from '#test/adapters/local/machine.ts';
import { sandboxId } from '#test/contracts/sandbox-provider.contract.ts';
import { repetitions, suite } from '#test/support/suite.ts';

const SERVER = `require('net').createServer((c) => { c.on('error', () => {}); c.write('alive:'); c.pipe(c); })`;

for (const isolation of ['bubblewrap', 'unshare', 'gvisor', 'none'] as const) {
  suite(`a host that is killed, ${isolation}`, missingFor(isolation), () => {
    let folder: string;
    let place: HostPlace;
    const hosts: DrivenHost[] = [];
    const start = async (): Promise<DrivenHost> => {
      const host = await DrivenHost.start(place);
      hosts.push(host);
      return host;
    };

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'porthole-adopt-'));
      place = { folder, isolation, as: 'root' };
      await prepare(place);
    });
    afterEach(async () => {
      for (const host of hosts.splice(0)) await host.kill();
    });
    afterAll(() => rmSync(folder, { recursive: true }));

    test('leaves its sandboxes alive, and the next host adopts them', async () => {
      const id = sandboxId();
      const first = await start();
      await first.create(id);
      const listen = `nohup node -e "const s = ${SERVER}; s.listen(0, '127.0.0.1', () => console.log(s.address().port))" > port & until [ -s port ]; do sleep 0.02; done; cat port`;
      const port = Number(await first.shell(id, listen));
      expect(await first.talk(id, port, 'a')).toBe('alive:a');
      await first.kill();

      const second = await start();
      expect(await second.list()).toEqual([id]);
      expect(await second.inspect(id)).toMatchObject({ state: 'running', podName: id });
      expect(await second.talk(id, port, 'b')).toBe('alive:b');
      expect(Number(await second.shell(id, 'cat port'))).toBe(port);
      await second.create(id);
      expect(await second.talk(id, port, 'c')).toBe('alive:c');
      await second.stop(id);
      expect(await second.inspect(id)).toMatchObject({ state: 'stopped' });
      await second.resume(id);
      expect(Number(await second.shell(id, 'cat port'))).toBe(port);
      await second.destroy(id);
      expect(processesWith(id)).toEqual([]);
      expect(await second.list()).toEqual([]);
    });

    // The machine does not show the processes of gVisor's sandboxes.
    const testOnLinux = (title: string, body: () => Promise<void>): void => {
      if (isolation !== 'gvisor') test(title, body);
    };

    testOnLinux('takes with it the commands that were connected to it', async () => {
      const id = sandboxId();
      const mark = `connected-${id}`;
      const first = await start();
      await first.create(id);
      const lost = first.shell(id, `sh -c 'sleep 1000; :' ${mark}`).catch(() => 'lost');
      expect(await comesTrue(() => processesWith(mark).length > 0)).toBe(true);
      await first.kill();
      expect(await lost).toBe('lost');
      expect(await comesTrue(() => processesWith(mark).length === 0)).toBe(true);
      await (await start()).destroy(id);
      expect(processesWith(id)).toEqual([]);
    });

    test('leaves no orphan at any moment of create, stop, resume or destroy', async () => {
      const id = sandboxId();
      for (let round = 0; round < repetitions(12, 4); round++) {
        const host = await start();
        const steps = ['create', 'stop', 'resume', 'destroy'] as const;
        for (const before of steps.slice(0, round % 4)) await host[before](id);
        const step = steps[round % 4] as (typeof steps)[number];
        void host[step](id).catch(() => {});
        // Any moment is valid: create takes about 60 ms, the others less.
        await after(Math.random() * (step === 'create' || step === 'resume' ? 80 : 15));
        await host.kill();

        const next = await start();
        const listed = await next.list();
        const { state } = await next.inspect(id);
        expect(listed).toEqual(state === 'absent' ? [] : [id]);
        if (round % 2 === 0) {
          await next.create(id);
          expect(await next.shell(id, 'echo up')).toBe('up\n');
        }
        await next.destroy(id);
        expect(await next.inspect(id)).toMatchObject({ state: 'absent' });
        expect(await comesTrue(() => processesWith(id).length === 0)).toBe(true);
        await next.kill();
      }
    }, 120_000);

    test('does not make the next one signal a process that has only the same pid', async () => {
      const id = sandboxId();
      const first = await start();
      await first.create(id);
      await first.stop(id);
      const bystander: ChildProcess = spawn('sleep', ['1000'], { detached: true });
      try {
        const record = {
          isolation,
          process: { pid: bystander.pid, start: '1@another-boot' },
        };
        writeFileSync(join(folder, 'data', 'sandboxes', id, 'process.json'), JSON.stringify(record));
        expect(await first.inspect(id)).toMatchObject({
          state: 'stopped',
          reason: 'its processes have ended',
        });
        await first.stop(id);
        await first.destroy(id);
        expect(readFileSync(`/proc/${bystander.pid}/stat`, 'utf8')).toContain('(sleep)');
        expect(bystander.signalCode).toBeNull();
      } finally {
        bystander.kill('SIGKILL');
      }
    });
  });
}
