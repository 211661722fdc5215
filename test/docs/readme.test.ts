import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';

const README = join(import.meta.dirname, '../../README.md');
const PACKAGE = join(import.meta.dirname, '../../package.json');

/** The README's shell blocks, in their order. */
async function shellBlocks(): Promise<string[]> {
  const text = await readFile(README, 'utf8');
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map((match) => match[1] as string);
}

describe('the README', () => {
  let porthole: TestHost;
  let folder: string;
  beforeAll(async () => {
    porthole = await startTestHost();
    folder = await mkdtemp(join(tmpdir(), 'porthole-readme-'));
  });
  afterAll(async () => {
    await porthole.end();
    await rm(folder, { recursive: true, force: true });
  });

  test('its commands by hand do what it says, in their order', async () => {
    const blocks = (await shellBlocks()).filter((block) => block.includes('curl'));
    expect(blocks).toHaveLength(4);
    const script = blocks
      .map((block, index) => `echo; echo "== ${index}"\n${block}`)
      .join('\n')
      .replaceAll('127.0.0.1:8787', `127.0.0.1:${porthole.host.port}`);
    const { stdout } = await promisify(execFile)(
      'bash',
      ['-euc', `${script}\necho; echo "== end"; curl -s -o /dev/null -w '%{http_code}' $URL/`],
      {
        cwd: folder,
      },
    );
    const [, , wrote, looked, stopped, end] = stdout.split(/^== .*$/m).map((part) => part.trim());
    expect(wrote).toMatch(/^\{"ok":true\}event: exit\ndata: \{"exit_code":0\}$/);
    expect(looked).toBe('Hello through the porthole');
    expect(stopped).toMatch(/"stopped":true/);
    expect(end).toBe('410');
  });

  test('its npm commands are scripts of the package', async () => {
    const { scripts } = JSON.parse(await readFile(PACKAGE, 'utf8')) as { scripts: Record<string, string> };
    const text = await readFile(README, 'utf8');
    const named = new Set(
      [...text.matchAll(/npm (?:run ([\w:]+)|(start|test))/g)].map(
        (match) => match[1] ?? (match[2] as string),
      ),
    );
    expect([...named].toSorted()).toEqual([
      'bench',
      'cluster:down',
      'cluster:up',
      'config',
      'demo',
      'start',
      'test',
    ]);
    for (const name of named) expect(scripts).toHaveProperty([name]);
  });
});
