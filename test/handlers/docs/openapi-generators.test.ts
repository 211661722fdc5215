/** The document as the linters and the generators of clients read it that our users have. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openapiDocument } from '#handlers/ops/openapi-document.ts';
import { ROUTES } from '#handlers/features.ts';
import { suite } from '#test/support/suite.ts';
import { goTool, npmTool, openapiToolsMissing, pythonOfTools } from './openapi-tools.ts';

const LIMIT = 300_000;

suite('the OpenAPI document, read by other tools', openapiToolsMissing, () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'porthole-openapi-'));
    const document = openapiDocument(ROUTES, { secured: true });
    writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document, null, 2));
    writeFileSync(join(folder, '.spectral.yaml'), 'extends: ["spectral:oas"]\n');
    writeFileSync(
      join(folder, 'orval.config.mjs'),
      "export default { api: { input: './openapi.json', output: { target: './orval/api.ts', client: 'fetch' } } };\n",
    );
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** @throws the error of a program that fails, with what it printed */
  const run = async (program: string, ...args: string[]) => {
    const env = { ...process.env, CI: 'true', REDOCLY_TELEMETRY: 'off', NO_COLOR: '1', GOFLAGS: '-mod=mod' };
    const { stdout, stderr } = await promisify(execFile)(program, args, { cwd: folder, env });
    return `${stdout}${stderr}`;
  };

  test(
    'has no error of redocly lint and of spectral',
    async () => {
      expect(await run(npmTool('redocly'), 'lint', 'openapi.json')).toContain('is valid');
      const results = await run(npmTool('spectral'), 'lint', 'openapi.json', '--format=json', '-q');
      const found = JSON.parse(results.slice(results.indexOf('['))) as { severity: number; code: string }[];
      expect(found.filter(({ severity }) => severity === 0)).toEqual([]);
    },
    LIMIT,
  );

  test(
    'becomes clients in TypeScript that compile',
    async () => {
      await run(npmTool('openapi-typescript'), 'openapi.json', '-o', 'types/schema.d.ts');
      await run(npmTool('orval'), '--config', 'orval.config.mjs');
      await run(npmTool('openapi-ts'), '-i', 'openapi.json', '-o', 'hey', '-c', '@hey-api/client-fetch');
      const sources = ['types', 'orval', 'hey'].flatMap((name) =>
        readdirSync(join(folder, name), { recursive: true, encoding: 'utf8' })
          .filter((file) => file.endsWith('.ts'))
          .map((file) => join(name, file)),
      );
      expect(sources.length).toBeGreaterThan(5);
      const options = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022'];
      const modules = [
        '--module',
        'esnext',
        '--moduleResolution',
        'bundler',
        '--lib',
        'es2023,dom,dom.iterable',
      ];
      expect(await run(npmTool('tsc'), ...options, ...modules, ...sources)).toBe('');
      const client = readFileSync(join(folder, 'orval/api.ts'), 'utf8');
      for (const { id } of ROUTES) expect(client).toContain(`export const ${id} = `);
    },
    LIMIT,
  );

  test(
    'becomes a client in Python that imports',
    async () => {
      const output = ['--output-path', 'porthole_client', '--meta', 'none'];
      const said = await run(
        pythonOfTools,
        '-m',
        'openapi_python_client',
        'generate',
        '--path',
        'openapi.json',
        ...output,
      );
      // It knows no media types but its own.
      const warnings = said.split('\n').filter((line) => /^WARNING|^Unable to/.test(line));
      expect(warnings.toSorted()).toEqual([
        'WARNING parsing GET /api/runs/{id}/looks/{look}/{picture} within previews.',
        'WARNING parsing GET /v1/sandbox/{id}/archive within sandboxes.',
        'WARNING parsing POST /e2b/envd/execute within e2b.',
      ]);
      const importing = [
        'import importlib, pkgutil, porthole_client',
        "names = [m.name for m in pkgutil.walk_packages(porthole_client.__path__, 'porthole_client.')]",
        'for name in names: importlib.import_module(name)',
        'print(len(names))',
      ];
      expect(Number(await run(pythonOfTools, '-c', importing.join('\n')))).toBeGreaterThan(ROUTES.length);
    },
    LIMIT,
  );

  test(
    'becomes a client in Go',
    async () => {
      const options = ['-generate', 'types,client', '-package', 'porthole', '-o', 'porthole.go'];
      await run(goTool('oapi-codegen'), ...options, 'openapi.json');
      const client = readFileSync(join(folder, 'porthole.go'), 'utf8');
      expect(client).toContain('func (c *Client) ListRuns(');
    },
    LIMIT,
  );
});
