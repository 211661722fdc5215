import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { command } from '#test/cluster/fixture/command.ts';
import { type CommandResult, execute } from './commands.ts';
import { as, type Callable } from './runs.ts';

/**
 * Installs the package `tiny` of `answerRegistry` with the npm of this machine, and prints it: the
 * images of the tests have no npm.
 */
export async function installPackage(
  porthole: Callable,
  sandboxId: string,
  registry: string,
  token?: string,
): Promise<CommandResult> {
  const folder = await mkdtemp(join(tmpdir(), 'porthole-npm-'));
  try {
    // npm/bin/npm-cli.js
    const npm = dirname(dirname(await realpath((await command(['which', 'npm'])).trim())));
    const archive = join(folder, 'npm.tar');
    await command(['tar', '-cf', archive, '--exclude=docs', '--exclude=man', '-C', npm, '.']);
    const put = await porthole.call('PUT', `/v1/sandbox/${sandboxId}/file/workspace/npm.tar`, {
      body: await readFile(archive),
      ...as(token),
    });
    if (put.status >= 300) throw new Error(`npm is not in the sandbox: ${put.status} ${put.text}`);
  } finally {
    await rm(folder, { recursive: true });
  }
  const script = `set -e
export HOME=/workspace
mkdir -p npm app
tar -xf npm.tar -C npm
cd app
echo '{}' > package.json
node ../npm/bin/npm-cli.js install --no-audit --no-fund --no-update-notifier --registry=${registry} tiny >&2
cat node_modules/tiny/index.js`;
  return execute(porthole, sandboxId, ['sh', '-c', script], token === undefined ? {} : { token });
}
