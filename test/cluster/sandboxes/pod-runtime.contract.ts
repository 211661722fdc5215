/** What the runtime of a pod decides about a sandbox, beside the contract of providers. */
import { expect, test } from '@jest/globals';
import { GUEST_PORT } from '#protocol/guest/guest-pod.ts';
import { GUEST_IMAGE, importGuestImage } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { codeOf, eventually, run, sandboxId } from '#test/contracts/sandbox-provider.contract.ts';
import type { TestProvider } from '#test/support/with-guests.ts';
import { BUSYBOX_IMAGE } from '../fixture/fixture-images.ts';
import { cluster } from '../fixture/cluster.ts';

/** Runs the suite; `open` is called once a test, with settings of the pod. */
export function podRuntimeContract(
  open: (options?: { readonly pod?: object }) => Promise<TestProvider>,
): void {
  test('runs the guest of another image in an image that has none', async () => {
    await importGuestImage(await cluster());
    const provider = await open({ pod: { guestImage: GUEST_IMAGE } });
    const id = sandboxId();
    await provider.create({ id, image: BUSYBOX_IMAGE });
    const script = 'touch /porthole/x; ls /porthole/guest.js; id -u';
    expect(await run(provider, id, ['sh', '-c', script])).toMatchObject({
      stdout: '/porthole/guest.js\n1000\n',
      stderr: expect.stringContaining('Read-only file system'),
    });
    await provider.destroy(id);
  }, 60_000);

  test('comes back with its files when code in the sandbox kills the guest', async () => {
    const provider = await open();
    const id = sandboxId();
    await provider.create({ id });
    const script =
      'read _; echo kept > kept; for each in /proc/[0-9]*; do grep -q "[p]orthole-guest" $each/cmdline && kill -9 ${each#/proc/}; done';
    const killed = await provider.exec(id, { argv: ['sh', '-c', script], stdin: true });
    killed.stdout.resume();
    killed.stderr.resume();
    // Only now: the start itself would fail if the guest ended before it said so.
    killed.stdin?.end('\n');
    expect(await codeOf(killed.exited)).toBe('exec_transport_error');
    // The pod's status reports the end, and then the new start, when the guest may have answered
    // again already.
    const read = async (): Promise<string> => {
      await provider.resume(id);
      return (await run(provider, id, ['cat', 'kept'])).stdout;
    };
    expect(await eventually(async () => (await read().catch(() => '')) === 'kept\n')).toBe(true);
    await provider.destroy(id);
    await provider.close();
  }, 60_000);

  test('keeps the guest for the functions while code inside holds connections to its port', async () => {
    const provider = await open();
    const id = sandboxId();
    await provider.create({ id });
    const script = `const { connect } = require('net');
      const all = Object.values(require('os').networkInterfaces()).flat();
      const open = { loopback: 0, own: 0 };
      // Once nothing has happened for a while: a busy machine takes seconds to close the others.
      const quiet = setTimeout(() => console.log(JSON.stringify(open)), 4_000);
      for (const { address, internal } of all.filter(({ family }) => family === 'IPv4')) {
        const kind = internal ? 'loopback' : 'own';
        for (let count = 0; count < 400; count += 1) {
          open[kind] += 1;
          const socket = connect(${GUEST_PORT}, address);
          socket.on('error', () => {}).on('connect', () => quiet.refresh());
          socket.on('close', () => { open[kind] -= 1; quiet.refresh(); });
        }
      }`;
    const flooding = await provider.exec(id, { argv: ['node', '-e', script] });
    flooding.stderr.resume();
    const counted = await flooding.stdout[Symbol.asyncIterator]().next();
    expect(JSON.parse(String(counted.value))).toEqual({ loopback: 128, own: 0 });
    flooding.stdout.resume();
    expect((await run(provider, id, ['echo', 'works'])).stdout).toBe('works\n');
    flooding.kill('SIGKILL');
    await provider.destroy(id);
    await provider.close();
  }, 120_000);

  test('names an image without the guest, with the line to add', async () => {
    const provider = await open();
    const id = sandboxId();
    await expect(provider.create({ id, image: BUSYBOX_IMAGE })).rejects.toMatchObject({
      code: 'sandbox_not_running',
      message: expect.stringContaining('COPY --from=porthole/guest /porthole /porthole'),
    });
    await provider.destroy(id);
    await provider.close();
  }, 60_000);

  test('leaves no process of a command behind, dead or alive', async () => {
    const provider = await open();
    const id = sandboxId();
    await provider.create({ id });
    const processes = async (): Promise<number> => {
      const { stdout } = await run(provider, id, ['sh', '-c', 'ls -d /proc/[0-9]* | wc -l']);
      return Number(stdout);
    };
    const before = await processes();
    for (let number = 0; number < 10; number += 1) await run(provider, id, ['cat'], { input: 'x' });
    expect(await eventually(async () => (await processes()) <= before)).toBe(true);
    expect((await run(provider, id, ['sh', '-c', 'ls -A /tmp'])).stdout).toBe('');
    await provider.destroy(id);
    await provider.close();
  });
}
