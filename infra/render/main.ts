#!/usr/bin/env node
/**
 * `npm run --silent render -- --stack prod [--values file.yaml]…` writes the objects of a stack as
 * YAML, for Argo CD, Flux or `kubectl apply --server-side`.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { parse, stringify } from 'yaml';
import { readStackConfig, StackConfigError } from '../read-stack-config.ts';
import { renderObjects } from './render-objects.ts';

const USAGE = `Usage: porthole-render --stack <name> [--values <file>]...

Writes the objects of Pulumi.<name>.yaml to stdout as YAML. A file of --values has more settings,
as the stack file has below "config": secrets in clear text, for instance. The last one wins.
`;

try {
  process.stdout.write(await render());
} catch (error) {
  if (!(error instanceof StackConfigError) && !isUsage(error)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

async function render(): Promise<string> {
  const { values } = parseArgs({
    options: {
      stack: { type: 'string' },
      values: { type: 'string', multiple: true, default: [] },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) return USAGE;
  if (values.stack === undefined) throw new TypeError(`--stack is required.\n\n${USAGE}`);
  const { config = {} } = read(`Pulumi.${values.stack}.yaml`) as { config?: Record<string, unknown> };
  const settings = Object.assign({}, config, ...values.values.map(read)) as Record<string, unknown>;
  const objects = await renderObjects(readStackConfig(textsOf(settings), () => true));
  return objects
    .map((object) => `---\n${stringify(object, { aliasDuplicateObjects: false, version: '1.1' })}`)
    .join('');
}

function read(file: string): Record<string, unknown> {
  return (parse(readFileSync(file, 'utf8')) ?? {}) as Record<string, unknown>;
}

/** @throws StackConfigError for what Pulumi has encrypted: only its command line can read it */
function textsOf(settings: Readonly<Record<string, unknown>>): Record<string, string> {
  const encrypted = Object.entries(settings).filter(([, value]) => isEncrypted(value));
  if (encrypted.length > 0) {
    throw new StackConfigError(
      encrypted.map(
        ([key]) =>
          `${key}: is encrypted by Pulumi: give it in a file of --values, or use functions.existingSecret`,
      ),
    );
  }
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [
      key,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
}

function isEncrypted(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return 'secure' in value || Object.values(value).some(isEncrypted);
}

function isUsage(error: unknown): error is Error {
  return error instanceof TypeError || (error as NodeJS.ErrnoException).code === 'ENOENT';
}
