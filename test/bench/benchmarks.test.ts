import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { chromiumMissing } from '#test/support/chromium.ts';
import { suite } from '#test/support/suite.ts';
import { BENCHES } from '../../bench/main.ts';

const program = fileURLToPath(new URL('../../bench/main.ts', import.meta.url));
const IN_BROWSER = new Set(['console', 'looks']);
const names = Object.keys(BENCHES);

/** Only that it ends with 0: the figures count on a quiet machine. */
async function expectQuickRun(name: string): Promise<void> {
  const child = spawn(process.execPath, [program, name, '--quick'], { timeout: 170_000 });
  const [output, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  if (code !== 0) throw new Error(`npm run bench -- ${name} --quick ended with ${code}:\n${output}${errors}`);
  expect(output).toContain(`\n${name}\n`);
}

test.each(names.filter((name) => !IN_BROWSER.has(name)))('runs every arm of %s', expectQuickRun, 180_000);

suite('in a browser', chromiumMissing, () => {
  test.each(names.filter((name) => IN_BROWSER.has(name)))('runs every arm of %s', expectQuickRun, 180_000);
});
