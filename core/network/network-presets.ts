import type { PresetRule } from './network-policy.ts';

/**
 * Hosts that package managers read from, by preset. Plain HTTP is read-only; the content of tunnels
 * is not visible.
 */
const PRESETS = {
  npm: ['registry.npmjs.org', 'registry.yarnpkg.com', 'nodejs.org'],
  pypi: ['pypi.org', 'files.pythonhosted.org'],
  crates: ['index.crates.io', 'static.crates.io', 'crates.io'],
  go: ['proxy.golang.org', 'sum.golang.org'],
  maven: ['repo.maven.apache.org', 'repo1.maven.org', 'plugins.gradle.org', 'services.gradle.org'],
  rubygems: ['rubygems.org', 'index.rubygems.org'],
  debian: ['deb.debian.org', 'security.debian.org', 'archive.ubuntu.com', 'security.ubuntu.com'],
  alpine: ['dl-cdn.alpinelinux.org'],
  github: [
    'github.com',
    'codeload.github.com',
    'raw.githubusercontent.com',
    'objects.githubusercontent.com',
    'release-assets.githubusercontent.com',
  ],
} as const;

const WEB_PORTS = [80, 443];

/** A registry that the machine's package manager is configured for. */
export interface MachineRegistry {
  readonly preset: string;
  readonly host: string;
  readonly port: number;
}

/** The rules of `network: "packages"`, the machine's own registries first. */
export function packageRules(registries: readonly MachineRegistry[]): readonly PresetRule[] {
  return [
    ...registries.map(({ preset, host, port }) => ({
      preset: `${preset} (this machine)`,
      host,
      ports: [port],
    })),
    ...Object.entries(PRESETS).flatMap(([preset, hosts]) =>
      hosts.map((host) => ({ preset, host, ports: WEB_PORTS })),
    ),
  ];
}
