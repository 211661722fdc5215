/**
 * The whole path on one machine: the gateway in front of a server in a real sandbox. The upstream's
 * port is unused: the same server also runs inside.
 */
import { readFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalProvider } from '#adapters/local/local-provider.ts';
import { PortholeError } from '#base/errors.ts';
import { writeWorkspaceFile } from '#core/files/workspace-files.ts';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { serveGateway } from './gateway.ts';
import { withGuests } from '#test/support/with-guests.ts';

const PORT = 3000;
const SANDBOX = 'bench';

const dataDir = await mkdtemp(join(tmpdir(), 'porthole-bench-'));
const provider = withGuests(
  createLocalProvider({
    dataDir,
    nodeModules: new URL('../../node_modules', import.meta.url).pathname,
  }),
);
await provider.create({ id: SANDBOX });
for (const file of ['upstream.ts', 'body.ts']) {
  const text = await readFile(new URL(file, import.meta.url));
  await writeWorkspaceFile({ sandboxes: provider }, SANDBOX, `/workspace/${file}`, Readable.from([text]));
}
const server = await provider.exec(SANDBOX, { argv: ['node', '/workspace/upstream.ts', String(PORT)] });
server.stdout.resume();
server.stderr.pipe(process.stderr);
server.exited.catch(() => undefined);
while (!(await listens())) await setTimeout(20);

const front = await serveGateway(PORT, () => provider.dial(SANDBOX, PORT));
process.once('SIGTERM', () => {
  front.close();
  void provider
    .destroy(SANDBOX)
    .then(() => provider.close())
    .then(() => rm(dataDir, { recursive: true, force: true }))
    .finally(() => process.exit(0));
});

async function listens(): Promise<boolean> {
  try {
    (await provider.dial(SANDBOX, PORT)).destroy();
    return true;
  } catch (error) {
    if (error instanceof PortholeError && error.code === 'nothing_listens') return false;
    throw error;
  }
}
