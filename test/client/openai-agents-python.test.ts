import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { startTestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { python, pythonMissing } from './support/python-environment.ts';

suite('the OpenAI Agents SDK for Python, through the bridge', pythonMissing, () => {
  test('runs commands, applies a patch, moves files and resumes', async () => {
    const host = await startTestHost(PEOPLE);
    const script = join(import.meta.dirname, 'support/openai_agents.py');
    const env = {
      PATH: process.env['PATH'],
      PORTHOLE_URL: `http://127.0.0.1:${host.host.port}`,
      CLOUDFLARE_SANDBOX_API_KEY: ALICE,
      PYTHONDONTWRITEBYTECODE: '1',
    };
    const { stdout } = await promisify(execFile)(python, [script], { env });
    expect(JSON.parse(stdout)).toEqual({
      final: 'Done.',
      outputs: [
        expect.stringContaining('\r42\r\n'),
        "Created notes/it's 100%.md",
        expect.stringContaining('first\r\nsecond'),
      ],
      failed: [3, 'out\n', 'err\n'],
      same: true,
      large: true,
      timed: [124, 'out\n', 'Command timed out after 1000ms\n'],
      restored: 'first\nsecond',
      running: true,
      answer: '42\n',
    });
    await host.end();
  }, 180_000);
});
