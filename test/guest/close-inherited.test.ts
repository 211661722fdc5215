/** What the guest closes at its start. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { rootCertificates } from 'node:tls';
import { expect, test } from '@jest/globals';
import { command } from '#test/cluster/fixture/command.ts';

const MODULE = new URL('../../guest/protect-guest.ts', import.meta.url).href;
const SCRIPT = `
import { writeSync } from 'node:fs';
import { getCACertificates } from 'node:tls';
const { closeInherited } = await import(${JSON.stringify(MODULE)});
writeSync(1, 'closing\\n');
closeInherited(2);
console.log(getCACertificates('extra').length);`;

test('leaves the file of authorities open that Node reads in a thread', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'porthole-inherited-'));
  try {
    const file = join(folder, 'authorities.pem');
    await command(['mkfifo', file]);
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', SCRIPT];
    const child = spawn(process.execPath, args, {
      env: { PATH: process.env['PATH'], NODE_EXTRA_CA_CERTS: file },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [errors, exited] = [text(child.stderr), once(child, 'exit')];
    // Resolves once the thread has the file.
    const pipe = await open(file, 'w');
    await once(child.stdout, 'data');
    // More than one read.
    await pipe.writeFile(rootCertificates.join('\n'));
    await pipe.close();
    const printed = await text(child.stdout);
    expect([await exited, await errors, printed]).toEqual([[0, null], '', `${rootCertificates.length}\n`]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
