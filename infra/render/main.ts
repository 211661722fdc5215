#!/usr/bin/env node
/**
 * `npm run --silent render -- --stack prod [--values file.yaml]…` writes the objects of a stack as
 * YAML, for Argo CD, Flux or `kubectl apply --server-side`.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { parse, stringify } from 'yaml';
import { readStackConfig, StackConfigError } from '../read-stack-config.ts';
import { SET_SECRET } from '../stack-config-schema.ts';
import { renderObjects } from './render-objects.ts';
import { settingsFile, type SettingsFile } from './settings-file.ts';

const USAGE = `Usage: porthole-render --stack <name> [--values <file>]...

Writes the objects of Pulumi.<name>.yaml to stdout as YAML. A file of --values has more settings:
secrets in clear text, for instance. It is written like a stack file, or has the keys at its top.
The last file that has a key wins.
`;

/** The command line of Pulumi is not needed here. */
const PULUMI_REMEDY = new RegExp(`${SET_SECRET} (\\S+)`);

try {
  process.stdout.write(await render());
} catch (error) {
  const reported =
    error instanceof StackConfigError
      ? new StackConfigError(
          error.problems.map((line) => line.replace(PULUMI_REMEDY, 'put $1 in a file of --values')),
        )
      : error;
  if (!(reported instanceof StackConfigError) && !isUsage(reported)) throw reported;
  process.stderr.write(`${reported.message}\n`);
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
  const files = [`Pulumi.${values.stack}.yaml`, ...values.values].map(read);
  const problems = files.flatMap((file) => file.problems);
  if (problems.length > 0) throw new StackConfigError(problems);
  const settings = Object.assign({}, ...files.map((file) => file.settings)) as Record<string, unknown>;
  const objects = await renderObjects(readStackConfig(textsOf(settings), () => true));
  return objects
    .map((object) => `---\n${stringify(object, { aliasDuplicateObjects: false, version: '1.1' })}`)
    .join('');
}

function read(file: string): SettingsFile {
  return settingsFile(file, parse(readFileSync(file, 'utf8')) ?? {});
}

/** @throws StackConfigError for what Pulumi has encrypted: only its command line can read it */
function textsOf(settings: Readonly<Record<string, unknown>>): Record<string, string> {
  const encrypted = Object.entries(settings).filter(([, value]) => isEncrypted(value));
  if (encrypted.length > 0) {
    throw new StackConfigError(
      encrypted.map(
        ([key]) =>
          `${key}: is encrypted by Pulumi: put it in a file of --values, or use functions.existingSecret`,
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
