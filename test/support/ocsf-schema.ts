import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { cacheFolder } from '#test/cluster/fixture/program-cache.ts';
import type { Missing } from './suite.ts';

const VERSION = '1.2.0';
const FOLDER = join(cacheFolder(), `ocsf-json-schema-${VERSION}`);

export const ocsfMissing: Missing = existsSync(FOLDER)
  ? undefined
  : `no schema of OCSF: python3 -m pip install --target ${FOLDER} ocsf-json-schema==${VERSION}`;

/** Prints the JSON Schema of a class with its profiles. Unknown fields are errors in it. */
const PRINT = `
import json, sys
from ocsf_json_schema import OcsfJsonSchemaEmbedded, get_ocsf_schema
schema = OcsfJsonSchemaEmbedded(get_ocsf_schema(sys.argv[1]))
name = schema.lookup_class_name_from_uid(int(sys.argv[2]))
print(json.dumps(schema.get_class_schema(name, sys.argv[3:])))`;

interface OcsfEvent {
  readonly class_uid: number;
  readonly metadata: { readonly version: string; readonly profiles?: readonly string[] };
}

const validators = new Map<string, ValidateFunction>();

/** Where the event is not as the published schema of its version and class has it. */
export function ocsfProblems(event: OcsfEvent): readonly string[] {
  const { version, profiles = [] } = event.metadata;
  const args = [version, String(event.class_uid), ...profiles];
  const key = args.join();
  let validate = validators.get(key);
  if (validate === undefined) {
    const env = { ...process.env, PYTHONPATH: FOLDER, PYTHONDONTWRITEBYTECODE: '1' };
    const text = execFileSync('python3', ['-c', PRINT, ...args], { env, encoding: 'utf8' });
    validate = new Ajv2020({ strict: false, allErrors: true }).compile(JSON.parse(text) as object);
    validators.set(key, validate);
  }
  // As it is sent: without undefined fields.
  validate(JSON.parse(JSON.stringify(event)));
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
