/**
 * Runs a command in a new sandbox of Podman, as root:
 *
 *     podman system service --time 0 unix:///run/podman/podman.sock &
 *     node examples/podman/main.ts --image docker.io/library/node:24-bookworm -- node --version
 */
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { guestCalls } from '#adapters/guest/guest-calls.ts';
import { PodmanProvider } from './podman-provider.ts';

const { values, positionals } = parseArgs({
  options: { image: { type: 'string', default: 'docker.io/library/node:24-bookworm' } },
  allowPositionals: true,
});
const [program = 'env', ...args] = positionals;

const provider = new PodmanProvider({
  socket: process.env['PODMAN_SOCKET'] ?? '/run/podman/podman.sock',
  installation: 'example',
  image: values.image,
});
const id = 'example';
try {
  await provider.create({ id });
  const { stdout, stderr, exited } = await guestCalls(provider).exec(id, { argv: [program, ...args] });
  await Promise.all([
    pipeline(stdout, process.stdout, { end: false }),
    pipeline(stderr, process.stderr, { end: false }),
  ]);
  process.exitCode = (await exited).code ?? 1;
} finally {
  await provider.destroy(id);
  await provider.close();
}
