import { ApiObject, App, Chart } from 'cdk8s';
import { Construct } from 'constructs';
import { AGENT_SANDBOX_API } from './agent-sandbox-manifests.ts';
import { formatTime, NETWORK_LABELS, SANDBOX_LABELS, sandboxIdLabels, sandboxObjectName } from './names.ts';

export interface SandboxClaimProps {
  readonly namespace: string;
  readonly sandboxId: string;
  /** SandboxWarmPool in the same namespace that the sandbox is taken from. */
  readonly warmPool: string;
  /**
   * Whether network policies let it reach the internet, without metadata and private addresses.
   * @default false
   */
  readonly network?: boolean;
  /**
   * When the claim ends by itself.
   * @default - never
   */
  readonly shutdownTime?: Date;
  /**
   * What happens to the claim and the sandbox then. Every policy deletes the sandbox's volume.
   * @default 'Delete'
   */
  readonly shutdownPolicy?: 'Delete' | 'DeleteForeground' | 'Retain';
}

/**
 * A sandbox from a warm pool of agent-sandbox. `additionalPodMetadata` sets the label that previews
 * select: no other way survives suspend and resume. The claim sets no environment and no volumes,
 * because either makes every claim a cold start.
 */
export class SandboxClaim extends Construct {
  readonly claim: ApiObject;
  readonly shutdownPolicy: 'Delete' | 'DeleteForeground' | 'Retain';

  /** @throws Error that names the property with the invalid value */
  constructor(scope: Construct, id: string, props: SandboxClaimProps) {
    super(scope, id);
    if (props.warmPool === '') {
      throw new Error(
        'SandboxClaim.warmPool must name a SandboxWarmPool; one of 0 replicas makes every claim cold.',
      );
    }
    this.shutdownPolicy = props.shutdownPolicy ?? 'Delete';
    this.claim = new ApiObject(this, 'claim', {
      apiVersion: AGENT_SANDBOX_API,
      kind: 'SandboxClaim',
      metadata: {
        name: sandboxObjectName(props.sandboxId),
        namespace: props.namespace,
        labels: { ...SANDBOX_LABELS, ...sandboxIdLabels(props.sandboxId) },
      },
      spec: {
        warmPoolRef: { name: props.warmPool },
        additionalPodMetadata: {
          labels: { ...sandboxIdLabels(props.sandboxId), ...(props.network === true && NETWORK_LABELS) },
        },
        lifecycle: {
          shutdownPolicy: this.shutdownPolicy,
          ...(props.shutdownTime !== undefined && { shutdownTime: formatTime(props.shutdownTime) }),
        },
      },
    });
  }
}

/** The manifest of a claim, without an app around it. */
export function sandboxClaimManifest(props: SandboxClaimProps): object {
  const chart = new Chart(new App(), 'sandboxes', { disableResourceNameHashes: true });
  return new SandboxClaim(chart, props.sandboxId, props).claim.toJson() as object;
}
