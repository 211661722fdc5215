import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments, stringify } from 'yaml';
import { stackFile } from '../../infra/support/stack-files.ts';

const RENDER = join(import.meta.dirname, '../../../infra/render/main.ts');

interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** The NetworkPolicies that `porthole-render` writes for a stack with these settings. */
export async function renderedPolicies(more: Readonly<Record<string, unknown>>): Promise<Rendered[]> {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-policies-'));
  try {
    const { config, secrets } = stackFile(more);
    writeFileSync(join(folder, 'Pulumi.prod.yaml'), stringify({ config: { ...config, ...secrets } }));
    const { stdout } = await promisify(execFile)(process.execPath, [RENDER, '--stack', 'prod'], {
      cwd: folder,
      maxBuffer: 2 ** 24,
    });
    const all = parseAllDocuments(stdout).map((document) => document.toJS() as Rendered);
    return all.filter(({ kind }) => kind === 'NetworkPolicy');
  } finally {
    rmSync(folder, { recursive: true });
  }
}
