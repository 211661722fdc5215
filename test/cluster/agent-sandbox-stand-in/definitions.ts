import { existsSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Missing } from '#test/support/suite.ts';
import type { Kubectl } from '../fixture/kubectl.ts';

const VARIABLE = 'PORTHOLE_AGENT_SANDBOX_CRDS';

/**
 * Why agent-sandbox's definitions cannot be installed, with the remedy; `undefined` if their files
 * are available.
 */
export function definitionsMissing(env: NodeJS.ProcessEnv = process.env): Missing {
  const folder = env[VARIABLE];
  if (!folder) {
    return `${VARIABLE} is not set: let it name a folder with the CRD files of kubernetes-sigs/agent-sandbox`;
  }
  return existsSync(folder) ? undefined : `${VARIABLE} names ${folder}, which is not there`;
}

/** Installs the definitions; resolves once the API server serves them. */
export async function installDefinitions(
  kubectl: Kubectl,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const folder = resolve(env[VARIABLE] ?? '');
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
  // They are too long for the annotation that a client-side apply writes.
  await kubectl([
    'apply',
    '--server-side',
    '--force-conflicts',
    ...files.map((name) => `--filename=${folder}/${name}`),
  ]);
  const names = ['sandboxes.agents.x-k8s.io'].concat(
    ['sandboxclaims', 'sandboxtemplates', 'sandboxwarmpools'].map(
      (kind) => `${kind}.extensions.agents.x-k8s.io`,
    ),
  );
  await kubectl([
    'wait',
    ...names.map((name) => `crd/${name}`),
    '--for=condition=Established',
    '--timeout=60s',
  ]);
}
