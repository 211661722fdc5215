import { join } from 'node:path';

/** A program of the cluster, built from a Go module of ours in a folder beside this file. */
export interface Program {
  readonly name: string;
  readonly folder: string;
  /** The main package: ours (`.`) or a dependency's own. */
  readonly main: string;
  /** Linker variables: programs that tell their version to others get it here. */
  readonly variables: Readonly<Record<string, string>>;
  /** What the build takes where nothing is in Go's own cache yet, on two cores. */
  readonly takes: string;
  /** Folders of dependencies that are kept beside the program, by the name they get there. */
  readonly keeps: Readonly<Record<string, ModuleFolder>>;
  /** A dependency's file that is built in another version. */
  readonly replaces?: { readonly module: string; readonly file: string; readonly by: string };
}

interface ModuleFolder {
  readonly module: string;
  readonly path: string;
}

const folder = (name: string): string => join(import.meta.dirname, 'programs', name);

/** etcd, all of Kubernetes, and kubectl in one program: `kube COMPONENT ARGUMENTS`. */
export const KUBE: Program = {
  name: 'kube',
  folder: folder('kube'),
  main: '.',
  // Without it kubectl and the API server call themselves v0.0.0 and warn about their difference.
  variables: { 'k8s.io/component-base/version.gitVersion': 'v1.34.4' },
  takes: 'about 7 minutes',
  keeps: {},
};

export const COREDNS: Program = {
  name: 'coredns',
  folder: folder('coredns'),
  main: '.',
  variables: {},
  takes: 'about 1 minute',
  keeps: {},
};

/**
 * Traefik as its authors wrote it, but for the DNS challenges of ACME: clients of 180 DNS services, which are a third
 * of its packages and take most of the download. The Gateway API's definitions are those that it was built for.
 */
export const TRAEFIK: Program = {
  name: 'traefik',
  folder: folder('traefik'),
  main: 'github.com/traefik/traefik/v3/cmd/traefik',
  variables: { 'github.com/traefik/traefik/v3/pkg/version.Version': 'v3.6.12' },
  takes: 'about 5 minutes',
  keeps: { 'gateway-crds': { module: 'sigs.k8s.io/gateway-api', path: 'config/crd/standard' } },
  replaces: {
    module: 'github.com/go-acme/lego/v4',
    file: 'providers/dns/zz_gen_dns_providers.go',
    by: 'no-dns-providers.go.txt',
  },
};

export const PROGRAMS = [KUBE, COREDNS, TRAEFIK] as const;
