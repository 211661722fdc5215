/**
 * Suites that run another suite's contract with a further provider. CI skips one while no path that
 * it depends on has changed since its last passing run. `npm test` runs all.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/** Paths that all of these suites depend on. */
const COMMON = [
  'package.json',
  'package-lock.json',
  'jest.config.js',
  'base/',
  'protocol/',
  'guest/',
  'adapters/guest/',
  'adapters/sandboxes/',
  'core/sandboxes/',
  'images/',
  'build/',
  'test/run.ts',
  'test/suites-by-path.ts',
  'test/support/',
  'test/contracts/',
  'test/doubles/',
  'test/cluster/fixture/',
  'test/cluster/images/',
  'test/adapters/kubernetes/sandboxes/',
];
const DOCKER = ['adapters/docker/', 'test/docker/support/'];
const PODS = ['adapters/kubernetes/', 'constructs/', 'test/cluster/guards/', 'test/pulumi/', 'test/infra/'];
const CLAIMS = [...PODS, 'infra/', 'test/cluster/agent-sandbox-stand-in/'];

/** A path that ends in `/` is a folder. */
export const SUITES_BY_PATH: Readonly<Record<string, readonly string[]>> = {
  'test/docker/host-contracts.test.ts': [
    ...DOCKER,
    'adapters/mounts/',
    'adapters/egress/',
    'adapters/editor/',
    'test/host/support/',
    'test/core/use-cases/warm-pool/',
  ],
  'test/docker/sandboxes.test.ts': [...DOCKER, 'core/files/', 'adapters/egress/'],
  'test/examples/podman-provider.test.ts': [...DOCKER, 'examples/podman/'],
  'test/cluster/sandboxes-gvisor.test.ts': [...PODS, 'test/cluster/sandboxes/'],
  'test/cluster/sandboxes-agent-sandbox.test.ts': CLAIMS,
  'test/cluster/warm-pool-agent-sandbox.test.ts': [...CLAIMS, 'host/prime-once.ts'],
};

/**
 * Suites that try once more what another one has tried: with another provider, engine or browser,
 * or with a fault at each step. They run last. On a machine that is too slow for all, they are
 * left out, and the output names them. Those of one list share something, and run one at a time.
 */
export const LAST_SUITES: readonly (readonly string[])[] = [
  ['test/cluster/sandboxes-gvisor.test.ts', 'test/cluster/faults/previews.test.ts'],
  ['test/cluster/sandboxes-agent-sandbox.test.ts', 'test/cluster/warm-pool-agent-sandbox.test.ts'],
  ['test/cluster/faults/sandboxes.test.ts', 'test/cluster/faults/reaper.test.ts'],
  ['test/cluster/frameworks.test.ts'],
  ['test/host/jaeger.test.ts', 'test/cluster/pod-trace.test.ts'],
  [
    'test/docker/host-contracts.test.ts',
    'test/docker/sandboxes.test.ts',
    'test/examples/podman-provider.test.ts',
  ],
  [
    'test/browser/console-firefox.test.ts',
    'test/browser/page-browsers.test.ts',
    'test/browser/page-corpora.test.ts',
    'test/browser/hostile-looks.test.ts',
  ],
];

/** The suites of the table that no changed path concerns. */
export function suitesLeftOut(changed: readonly string[]): string[] {
  const isChanged = (path: string) =>
    changed.some((each) => each === path || (path.endsWith('/') && each.startsWith(path)));
  return Object.entries(SUITES_BY_PATH).flatMap(([suite, covered]) =>
    [suite, ...COMMON, ...covered].some(isChanged) ? [] : [suite],
  );
}

/** Paths that differ from a commit; undefined if the commit is no ancestor of HEAD. */
export function changedSince(commit: string, folder = ROOT): string[] | undefined {
  const git = (...argv: string[]) => spawnSync('git', argv, { cwd: folder, encoding: 'utf8' });
  if (git('merge-base', '--is-ancestor', commit, 'HEAD').status !== 0) return undefined;
  const tracked = git('diff', '--name-only', '--no-renames', '-z', commit);
  const untracked = git('ls-files', '--others', '--exclude-standard', '-z');
  if (tracked.status !== 0 || untracked.status !== 0) return undefined;
  return `${tracked.stdout}${untracked.stdout}`.split('\0').filter(Boolean);
}
