import { join } from 'node:path';
import type { Missing } from '#test/support/suite.ts';
import { type BedPlace, sharedBed } from './bed-place.ts';
import { bedPlan } from './bed-plan.ts';
import { isUp } from './bring-up.ts';
import { authorityFiles } from './certificate-authority.ts';
import { command } from './command.ts';
import { apiServerUrl, GATEWAY_PORTS } from './configurations.ts';
import { adminKubeconfig, credentialsFolder } from './furnish-run-folder.ts';
import { bedKubectl, type Kubectl } from './kubectl.ts';
import { machineMissing } from './machine-missing.ts';
import { ownCluster, ownClusterMissing, ownKubeconfig } from './own-cluster.ts';
import { cacheFolder } from './program-cache.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** A Kubernetes with a Gateway, for suites. */
export interface Cluster {
  /** File of a user who may do everything. */
  readonly kubeconfig: string;
  /** URL of the API server. */
  readonly apiServer: string;
  readonly gateway: {
    readonly http: Address;
    readonly https: Address;
    /** Certificate of the authority behind the gateway's own certificate. */
    readonly caFile: string;
  };
  /** A listener of this machine on this address is reached from pods. */
  readonly hostAddress: string;
  readonly kubectl: Kubectl;
  /** Makes the images of an archive, as `docker save` writes it, known to the nodes. */
  readonly importImage: (tarPath: string) => Promise<void>;
  /** Whether the nodes are sure to know the image of that name. */
  readonly hasImage: (reference: string) => Promise<boolean>;
}

/** Why no suite can use a cluster, with the remedy; `undefined` when one is there. */
export function missing(): Missing {
  if (ownKubeconfig() !== undefined) return ownClusterMissing();
  if (isUp(sharedBed())) return undefined;
  const [problem] = machineMissing(cacheFolder());
  return problem ?? 'no test cluster is up: npm run cluster:up';
}

/** The cluster for suites: that of `KUBECONFIG` where it is set, else the bed of `npm run cluster:up`. */
export async function cluster(): Promise<Cluster> {
  const problem = missing();
  if (problem !== undefined) throw new Error(problem);
  const kubeconfig = ownKubeconfig();
  return kubeconfig === undefined ? bedCluster(sharedBed(), cacheFolder()) : ownCluster(kubeconfig);
}

/** A bed that is up, as suites see it. */
export function bedCluster({ runFolder, number }: BedPlace, cache: string): Cluster {
  const bed = bedPlan(number);
  const kubeconfig = adminKubeconfig(runFolder);
  const images = (...argv: string[]): Promise<string> =>
    command([
      'ctr',
      `--address=${join(runFolder, 'containerd.sock')}`,
      '--namespace=k8s.io',
      'images',
      ...argv,
    ]);
  return {
    kubeconfig,
    apiServer: apiServerUrl(bed),
    gateway: {
      http: { host: bed.nodeAddress, port: GATEWAY_PORTS.http },
      https: { host: bed.nodeAddress, port: GATEWAY_PORTS.https },
      caFile: authorityFiles(credentialsFolder(runFolder)).certificate,
    },
    hostAddress: bed.hostAddress,
    kubectl: bedKubectl(kubeconfig, runFolder, cache),
    importImage: async (tarPath) => {
      await images('import', tarPath);
    },
    hasImage: async (reference) => (await images('list', '--quiet', `name==${reference}`)) !== '',
  };
}
