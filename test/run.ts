/**
 * `npm test`: jest on every suite this machine is ready for. Arguments go on to jest. The suites of the test cluster come along
 * once it is up (`npm run cluster:up`), or when they are asked for by name.
 */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { missing } from './cluster/bed/cluster.ts';

const wanted = process.argv.slice(2);
const leaveOut = missing() !== undefined && !wanted.some((argument) => argument.includes('cluster'));
if (leaveOut)
  process.stdout.write('Without the suites of the test cluster: npm run cluster:up brings it up.\n');

const jest = createRequire(import.meta.url).resolve('jest/bin/jest');
const child = spawn(
  process.execPath,
  [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    jest,
    ...wanted,
    ...(leaveOut ? ['--testPathIgnorePatterns', '/node_modules/', '/test/cluster/'] : []),
  ],
  { stdio: 'inherit' },
);
child.once('exit', (code, signal) => {
  process.exitCode = code ?? (signal ? 1 : 0);
});
