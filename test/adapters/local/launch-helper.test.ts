import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { writeRuntimeFiles } from '#adapters/local/runtime-files.ts';
import { missingFor } from '#test/adapters/local/machine.ts';
import { suite } from '#test/support/suite.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'porthole-launch-helper-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

suite('the loopback interface, without iproute2', missingFor('unshare'), () => {
  test('is brought up in a new network namespace', async () => {
    const listen =
      "const s = net.createServer((c) => c.end()).listen(0, '127.0.0.1', () => net.connect(s.address().port, '127.0.0.1').on('error', (e) => console.log(e.code)).on('connect', () => console.log('up')).on('close', () => s.close()))";
    const helper = join(await writeRuntimeFiles(folder), 'guest/launch-helper.mts');
    const inNamespace = (...programs: string[]) =>
      promisify(execFile)('unshare', [
        '--user',
        '--map-root-user',
        '--net',
        'sh',
        '-c',
        programs.join('; '),
        'sh',
        process.execPath,
        helper,
        listen,
      ]);
    expect((await inNamespace('"$1" -e "$3"')).stdout).toBe('ENETUNREACH\n');
    expect((await inNamespace('"$1" "$2" loopback', '"$1" -e "$3"')).stdout).toBe('up\n');
  });
});
