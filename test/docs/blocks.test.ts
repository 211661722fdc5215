/**
 * Every fenced block of README.md and `docs` is executed, validated, or marked as output (```text).
 * The blocks of a page run in order, unchanged, in one bash in an empty folder, against a host in
 * this process. Only the port 8787 is replaced. A setting in the home folder makes curl fail on an
 * error status. `npm`, `docker`, `pulumi` and `kubectl` are stand-ins (`stand-ins.ts`): they
 * validate their arguments against the repository.
 */
import { rootCertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parse } from 'yaml';
import { z } from 'zod';
import { readMountRequest } from '#core/mounts/mount-request.ts';
import { ROUTES } from '#handlers/features.ts';
import { readConfig } from '#host/config/config.ts';
import { serve } from '#test/host/support/commands.ts';
import { makeRun } from '#test/host/support/runs.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { existingGatewayProblems } from '../../infra/gateway.plan.ts';
import { stackFile } from '../infra/support/stack-files.ts';
import { readStackConfig } from '../../infra/read-stack-config.ts';
import { COMPILE_CACHE } from '#test/support/compile-cache.ts';

const ROOT = join(import.meta.dirname, '../..');
const SERVICE_KEY = 'the-service-key-of-the-pages';
const RUNNABLE = ['sh', 'ts'];
const VALIDATED = ['json', 'yaml', 'dockerfile'];
/**
 * `python` blocks run with the tests of the package (`python/tests/test_pages.py`), `typescript`,
 * `py` and `toml` blocks with a scripted model (`test/guides`).
 */
const SHOWN = ['text', 'mermaid', 'python', 'typescript', 'py', 'toml'];

interface Block {
  /** Line number of its fence. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** The page's text between the previous block and this one. */
  readonly prose: string;
}

/**
 * The fenced blocks of a page, also in lists and quotations, without the indentation of their
 * fence.
 */
function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let open: { line: number; indent: string; fence: string; language: string; code: string[] } | undefined;
  let prose = '';
  for (const [index, line] of readFileSync(join(ROOT, page), 'utf8').split('\n').entries()) {
    const [, indent = '', fence = '', info = ''] = /^([ \t>]*)(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (open === undefined) {
      if (fence === '') prose += `${line}\n`;
      else open = { line: index + 1, indent, fence, language: info.trim(), code: [] };
    } else if (fence.startsWith(open.fence) && info.trim() === '') {
      blocks.push({ line: open.line, language: open.language, code: `${open.code.join('\n')}\n`, prose });
      open = undefined;
      prose = '';
    } else open.code.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line.trimStart());
  }
  if (open !== undefined) throw new Error(`${page}:${open.line}: the block has no end`);
  return blocks;
}

const pages = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
].toSorted();
const withBlocks = pages.filter((page) => blocksOf(page).length > 0);

/** Commands for a sandbox: the reader's machine has no `porthole`. */
const isForSandbox = ({ language, code }: Block): boolean =>
  language === 'sh' && code.split('\n').every((line) => line === '' || line.startsWith('porthole '));

interface Page {
  readonly porthole: TestHost;
  readonly folder: string;
  /** Output of each block, by its index in the page; empty for those that do not run. */
  readonly outputs: readonly string[];
  readonly blocks: readonly Block[];
}

/** Runs a page's blocks; throws with the line of a failed one. */
async function runPage(page: string, porthole: TestHost, folder: string): Promise<Page> {
  const port = String(porthole.host.port);
  const blocks = blocksOf(page);
  await mkdir(join(folder, 'bin'));
  for (const program of ['npm', 'docker', 'pulumi', 'kubectl']) {
    const call = `exec '${process.execPath}' --disable-warning=ExperimentalWarning '${import.meta.dirname}/stand-ins.ts'`;
    await writeFile(join(folder, 'bin', program), `#!/bin/sh\n${call} ${program} "$@"\n`, { mode: 0o755 });
  }
  await writeFile(join(folder, '.curlrc'), 'fail-with-body\nshow-error\n');
  await writeFile(join(folder, 'package.json'), '{"type": "module"}');
  for (const name of ['agent', 'client']) await symlink(join(ROOT, name), join(folder, name));

  const script: string[] = [];
  for (const [index, block] of blocks.entries()) {
    const code = block.code.replaceAll('8787', port);
    const mark = `printf '\\n== %s ==\\n' ${index}`;
    if (block.language === 'ts') {
      await writeFile(join(folder, `block-${index}.ts`), code);
      script.push(mark, `node block-${index}.ts`);
    } else if (isForSandbox(block)) {
      const run = await makeRun(porthole, undefined, { auto_approve_tools: true });
      await serve(porthole, run.sandboxId, 3000, 'hello');
      const body = JSON.stringify({ argv: ['sh', '-euc', code] });
      await writeFile(join(folder, `block-${index}.json`), body);
      const url = `http://127.0.0.1:${port}/v1/sandbox/${run.sandboxId}/exec`;
      script.push(mark, `curl -s -H 'Accept: application/json' ${url} --json @block-${index}.json`);
    } else if (block.language === 'sh') script.push(mark, code);
  }
  await writeFile(join(folder, 'page.sh'), script.join('\n'));
  const child = spawn('bash', ['-euo', 'pipefail', 'page.sh'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: [join(folder, 'bin'), dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
      HOME: folder,
      ...COMPILE_CACHE,
      PORTHOLE_URL: `http://127.0.0.1:${port}`,
      STAND_IN_API_URL: `http://127.0.0.1:${port}`,
      STAND_IN_SERVICE_KEY: SERVICE_KEY,
    },
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  const outputs = blocks.map(() => '');
  let last = 0;
  for (const [, index, output = ''] of stdout.matchAll(/\n== (\d+) ==\n((?:(?!\n== \d+ ==\n).)*)/gs)) {
    last = Number(index);
    outputs[last] = output.trim();
  }
  if (code !== 0) {
    throw new Error(`${page}:${blocks[last]?.line}: exit code ${code}\n${outputs[last]}\n${stderr}`);
  }
  return { porthole, folder, outputs, blocks };
}

type Values = Readonly<Record<string, unknown>>;
const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/**
 * The stack that the page produces: `Pulumi.prod.yaml` with the page's blocks, and the settings of
 * its commands.
 */
async function validateStack({ folder }: Page, blocks: readonly Block[]): Promise<void> {
  const { config } = parse(await readFile(join(ROOT, 'Pulumi.prod.yaml'), 'utf8')) as { config: Values };
  const stack: Record<string, unknown> = { ...config };
  for (const { code } of blocks) {
    for (const [key, value] of Object.entries(parse(code) as Values)) {
      const isGroup = typeof value === 'object' && !Array.isArray(value);
      stack[key] = isGroup ? { ...(stack[key] as Values | undefined), ...(value as Values) } : value;
    }
  }
  const set = await readFile(join(folder, 'stack.json'), 'utf8').catch(absent);
  const secrets = { ...stackFile().secrets, ...(JSON.parse(set) as Record<string, string>) };
  const values = Object.entries({ ...stack, ...secrets }).map(([key, value]) => [key, asText(value)]);
  const texts = Object.entries(Object.fromEntries(values) as Record<string, string>).map(([key, text]) => [
    key,
    // The pages shorten digests and certificates.
    text
      .replaceAll('@sha256:…', `@sha256:${'0'.repeat(64)}`)
      .replace(/-----BEGIN CERTIFICATE-----\\n…\\n-----END CERTIFICATE-----/, () =>
        (rootCertificates[0] ?? '').replaceAll('\n', '\\n'),
      ),
  ]);
  readStackConfig(Object.fromEntries(texts) as Record<string, string>, (key) => key in secrets);
  // The stack's program passes the keys on unchanged.
  readConfig({ PORTHOLE_SIGNING_KEYS: secrets['porthole:signingKeys'] });
}

/** A page of reference sets no secrets. */
function absent(error: NodeJS.ErrnoException): string {
  if (error.code !== 'ENOENT') throw error;
  return '{}';
}

/** Validates YAML that belongs to one of our schemas. */
function validateYaml({ code }: Block): 'stack' | 'other' {
  const values = parse(code) as Values;
  const keys = Object.keys(values);
  if (keys.every((key) => key.startsWith('porthole:'))) return 'stack';
  if (values['kind'] === 'Gateway') {
    // The listeners that the text and `examples/pulumi` name.
    expect(existingGatewayProblems(values, ['previews', 'acme', 'web'])).toEqual([]);
    return 'other';
  }
  if (values['kind'] === 'RuntimeClass') {
    expect(keys.toSorted()).toEqual(['apiVersion', 'handler', 'kind', 'metadata']);
    return 'other';
  }
  // Prometheus configurations have no schema here.
  expect(keys).toEqual(['scrape_configs']);
  return 'other';
}

/** A body of the first route named in the text before it. */
function validateJson({ code, prose }: Block): void {
  // Configurations of MCP clients have no schema here.
  if (['mcpServers', 'servers'].includes(Object.keys(JSON.parse(code) as Values).join())) return;
  const [, method, path] = /`([A-Z]+) (\/[^`?]*)`/.exec(prose) ?? [];
  const route = ROUTES.find((each) => each.method === method && each.path === path);
  if (!(route?.body instanceof z.ZodType)) throw new Error(`no route takes this body: ${code}`);
  const body: unknown = JSON.parse(code);
  route.body.parse(body);
  if (route.id === 'mountBucket') readMountRequest(body);
}

/** Its base is an image built by the page. */
async function validateDockerfile({ code }: Block, { folder }: Page): Promise<void> {
  const [, base] = /^FROM (\S+)$/m.exec(code) ?? [];
  expect(JSON.parse(await readFile(join(folder, 'images.json'), 'utf8'))).toContain(base);
}

/** JSON output in a page has the fields that the block before it prints. */
function validateOutput(page: Page, index: number): void {
  const { code = '' } = page.blocks[index] ?? {};
  const printed = page.outputs[index - 1]?.split('\n').findLast((line) => line.startsWith('{'));
  if (!code.startsWith('{')) return;
  const fields = (json: string) => Object.keys(JSON.parse(json) as Values).toSorted();
  expect(fields(printed ?? '{}')).toEqual(expect.arrayContaining(fields(code)));
}

const outputWith = ({ blocks, outputs }: Page, part: string): string =>
  outputs[blocks.findIndex(({ code }) => code.includes(part))] ?? '';

/** Checks of a page's own commands. */
const EXPECTED: Readonly<Record<string, (page: Page) => Promise<void> | void>> = {
  'README.md'(page) {
    expect(outputWith(page, 'preview.fetch')).toMatch(/-preview\.localhost:\d+ Hello through the porthole$/);
  },
  async 'docs/guides/http.md'(page) {
    expect(outputWith(page, 'PUT --data')).toMatch(/^\{"ok":true\}\{"name":"web",.*"port":3000,/);
    expect(outputWith(page, 'curl -s $URL/')).toBe('Hello through the porthole');
    expect(outputWith(page, 'DELETE')).toMatch(/"stopped":true/);
    const preview = JSON.parse(await readFile(join(page.folder, 'preview.json'), 'utf8')) as {
      preview_url: string;
    };
    const { host } = new URL(preview.preview_url);
    expect((await page.porthole.call('GET', '/', { host })).status).toBe(410);
  },
  'docs/guides/agents.md'(page) {
    expect(outputWith(page, 'createPreviewTools')).toBe(
      '4 false Port 3000 has no live preview. Nothing listens on port 3000: start the server (e.g. porthole serve 3000 -- npm run dev -- --port 3000), then ask again.',
    );
    const { stdout, ...ended } = JSON.parse(outputWith(page, 'porthole preview')) as { stdout: string };
    expect(ended).toMatchObject({ exit_code: 0, stderr: '' });
    const [url, doctor, status] = stdout.split('\n');
    expect(url).toMatch(/^http:\/\/\S+-preview\.localhost:\d+$/);
    // The second sentence appears if a browser is installed.
    expect(doctor).toMatch(/^Node\.js answers on port 3000: a preview of it works\.(?: Its page works\.)?$/);
    expect(status).toBe(`3000 ${url}`);
  },
  'docs/guides/delegations.md'(page) {
    const { valid, owner, scopes } = JSON.parse(outputWith(page, '/validate')) as Values;
    expect({ valid, owner, scopes }).toEqual({ valid: true, owner: false, scopes: ['fs:read', 'exec'] });
  },
  'docs/guides/deploy.md'(page) {
    expect(outputWith(page, '/health')).toMatch(/Hello through the porthole$/);
    const refused = outputWith(page, '1.1.1.1').match(/"exit_code":(?:7|28)\}/g);
    expect(refused).toHaveLength(2);
  },
  'docs/guides/editor.md'(page) {
    const run = JSON.parse(readFileSync(join(page.folder, 'tool-run.json'), 'utf8')) as Values;
    expect(run).toMatchObject({ status: 'succeeded', outputs: { n: 1 }, next_actions: [{ id: 'again' }] });
    expect(JSON.parse(outputWith(page, 'start-action'))).toMatchObject({ status: 'succeeded' });
  },
  'docs/guides/skills.md'(page) {
    expect(outputWith(page, 'skills/pdf').match(/"name":"pdf"/g)?.length).toBeGreaterThanOrEqual(2);
  },
};

test('knows every page of which it expects something', () => {
  expect(withBlocks).toEqual(expect.arrayContaining(Object.keys(EXPECTED)));
});

test.each(withBlocks)('finds in %s only blocks that run, are validated, or are marked as output', (page) => {
  const known = [...RUNNABLE, ...VALIDATED, ...SHOWN];
  const unknown = blocksOf(page).filter(({ language }) => !known.includes(language));
  expect(unknown.map(({ line, language }) => `${page}:${line}: ${language || 'no language'}`)).toEqual([]);
});

test('finds the npm scripts that the pages name, beside those of the reader’s own project', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Values };
  const missing = pages.flatMap((page) =>
    [
      ...readFileSync(join(ROOT, page), 'utf8').matchAll(
        /(?<!-- )\bnpm (?:run (?:--\S+ )*([\w:-]+)|(start|test))\b/g,
      ),
    ]
      .map(([, run, own]) => run ?? own ?? '')
      .filter((name) => !(name in scripts))
      .map((name) => `${page}: npm run ${name}`),
  );
  expect(missing).toEqual([]);
});

describe.each(withBlocks)('%s', (name) => {
  let porthole: TestHost;
  let folder: string;
  let page: Page | undefined;
  beforeAll(async () => {
    // The cluster page documents a Porthole with keys.
    porthole = await startTestHost(name === 'docs/guides/deploy.md' ? { SANDBOX_API_KEY: SERVICE_KEY } : {});
    folder = await mkdtemp(join(tmpdir(), 'porthole-docs-'));
  });
  afterAll(async () => {
    await porthole.end();
    await rm(folder, { recursive: true, force: true });
  });

  test('runs its blocks in order, as written', async () => {
    page = await runPage(name, porthole, folder);
    await EXPECTED[name]?.(page);
  });

  test('shows blocks that fit their schemas, and outputs that fit their commands', async () => {
    if (page === undefined) throw new Error('its blocks have not run');
    for (const [index, block] of page.blocks.entries()) {
      if (block.language === 'json') validateJson(block);
      if (block.language === 'dockerfile') await validateDockerfile(block, page);
      if (block.language === 'text') validateOutput(page, index);
    }
    const yaml = page.blocks.filter(({ language }) => language === 'yaml');
    const stack = yaml.filter((block) => validateYaml(block) === 'stack');
    if (stack.length > 0) await validateStack(page, stack);
  });
});
