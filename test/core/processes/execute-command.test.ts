import { PassThrough, Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { executeCommand } from '#core/processes/execute-command.ts';
import type { Sandboxes } from '#core/sandboxes/sandbox-provider.ts';

/** A sandbox in which every command ends with 127 and this text. */
function ending(stderr: string): Sandboxes {
  const exec: Sandboxes['exec'] = () =>
    Promise.resolve({
      stdin: new PassThrough(),
      stdout: Readable.from([]),
      stderr: Readable.from([Buffer.from(stderr)]),
      exited: Promise.resolve({ code: 127 }),
      kill: () => undefined,
      resize: () => undefined,
    });
  return { exec } as unknown as Sandboxes;
}

const inFolder = (stderr: string) =>
  executeCommand({ sandboxes: ending(stderr) }, 'sandbox', { argv: ['true'], cwd: '/workspace/app' });

test('names a guest that is too old to enter a folder', async () => {
  await expect(inFolder('bash: run: No such file or directory\n')).rejects.toMatchObject({
    code: 'exec_error',
    message: expect.stringMatching(/^This sandbox was started with an older version of Porthole/),
    remedy: 'Build its image with the guest of this version, then stop and resume it.',
  });
});

test('answers with the output where there is no bash', async () => {
  const { process, exitCode } = await inFolder('bash: command not found');
  expect([await exitCode, Buffer.concat(await process.stderr.toArray()).toString()]).toEqual([
    127,
    'bash: command not found',
  ]);
});
