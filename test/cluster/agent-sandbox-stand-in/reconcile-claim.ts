import type { KubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';
import { isReason } from '#adapters/kubernetes/client/kubernetes-error.ts';
import {
  type Blueprint,
  type Claim,
  type Collections,
  type Condition,
  CORE,
  EXTENSIONS,
  owner,
  type Pool,
  POOL_LABEL,
  poolHash,
  type Sandbox,
  TAKEN,
  type Template,
} from './objects.ts';
import { setStatus } from './set-status.ts';

export interface World {
  readonly pools: readonly Pool[];
  readonly templates: readonly Template[];
  readonly sandboxes: readonly Sandbox[];
}

/** The domain of the labels that a claim may put on its pod. */
const ALLOWED = /^(?:[a-z0-9-]+\.)*sandbox\.users\.io\//;

/** Gives a claim a Sandbox, a warm one if one is ready, and sets its status. */
export async function reconcileClaim(
  client: KubernetesClient,
  at: Collections,
  claim: Claim,
  world: World,
): Promise<void> {
  if (claim.metadata.deletionTimestamp !== undefined) return;
  const refuse = (reason: string, message: string): Promise<void> =>
    setStatus(client, at.claims, claim, { conditions: [notReady(reason, message)] });
  const labels = claim.spec.additionalPodMetadata?.labels ?? {};
  const foreign = Object.keys(labels).find((label) => !ALLOWED.test(label));
  if (foreign !== undefined) return refuse('InvalidMetadata', `label ${foreign} is not allowed`);
  const poolName = claim.spec.warmPoolRef.name;
  const pool = world.pools.find(({ metadata }) => metadata.name === poolName);
  if (pool === undefined) return refuse('WarmPoolNotFound', `SandboxWarmPool "${poolName}" not found`);
  const templateName = pool.spec.sandboxTemplateRef.name;
  const template = world.templates.find(({ metadata }) => metadata.name === templateName);
  if (template === undefined) {
    return refuse('TemplateNotFound', `SandboxTemplate "${templateName}" not found`);
  }

  const taken = claim.metadata.annotations?.[TAKEN] ?? claim.metadata.name;
  const sandbox = world.sandboxes.find(({ metadata }) => metadata.name === taken);
  if (sandbox === undefined) {
    const warm = world.sandboxes.find(
      ({ metadata, status }) =>
        metadata.labels?.[POOL_LABEL] === poolHash(poolName) &&
        metadata.deletionTimestamp === undefined &&
        status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
    );
    if (warm !== undefined && (claim.spec.env ?? []).length === 0) {
      await client.mergePatch(at.claims, claim.metadata.name, {
        metadata: {
          annotations: { [TAKEN]: warm.metadata.name },
          resourceVersion: claim.metadata.resourceVersion,
        },
      });
      return;
    }
    await client
      .create(at.sandboxes, sandboxFor(claim.metadata.name, template.spec, labels, [claimOwner(claim)]))
      .catch((error: unknown) => {
        if (!isReason(error, 'AlreadyExists')) throw error;
      });
    return refuse('SandboxCreatePending', 'Sandbox is being created');
  }
  if (sandbox.metadata.ownerReferences?.[0]?.uid !== claim.metadata.uid) {
    return adopt(client, at, sandbox, claim, labels);
  }
  const reported = sandbox.status?.conditions?.find(({ type }) => type === 'Ready');
  const { name } = sandbox.metadata;
  const podIPs = sandbox.status?.podIPs ?? [];
  await setStatus(client, at.claims, claim, {
    conditions: [
      reported === undefined ? notReady('SandboxNotReady', 'Sandbox is not ready') : plain(reported),
    ],
    sandbox: { name, ...(podIPs.length > 0 && { podIPs }) },
  });
}

/** A Sandbox as a pool or a claim creates it. */
export function sandboxFor(
  name: string,
  { podTemplate, volumeClaimTemplates = [] }: Blueprint,
  podLabels: Readonly<Record<string, string>>,
  ownerReferences: readonly object[],
  labels: Readonly<Record<string, string>> = {},
): object {
  const template = {
    ...podTemplate,
    metadata: { ...podTemplate.metadata, labels: { ...podTemplate.metadata?.labels, ...podLabels } },
  };
  return {
    apiVersion: `${CORE}/v1beta1`,
    kind: 'Sandbox',
    metadata: { name, labels, ownerReferences },
    spec: { operatingMode: 'Running', podTemplate: template, volumeClaimTemplates },
  };
}

/** Moves a warm Sandbox from its pool to the claim, and the claim's labels to its pod. */
async function adopt(
  client: KubernetesClient,
  at: Collections,
  sandbox: Sandbox,
  claim: Claim,
  labels: Readonly<Record<string, string>>,
): Promise<void> {
  await client.mergePatch(at.sandboxes, sandbox.metadata.name, {
    metadata: {
      resourceVersion: sandbox.metadata.resourceVersion,
      labels: { [POOL_LABEL]: null },
      ownerReferences: [claimOwner(claim)],
    },
    spec: { podTemplate: { metadata: { labels } } },
  });
  await client.mergePatch(at.pods, sandbox.metadata.name, { metadata: { labels } });
}

function claimOwner(claim: Claim): object {
  return owner(`${EXTENSIONS}/v1beta1`, 'SandboxClaim', claim);
}

function plain({ type, status, reason, message }: Condition): Condition {
  return { type, status, reason, message };
}

function notReady(reason: string, message: string): Condition {
  return { type: 'Ready', status: 'False', reason, message };
}
