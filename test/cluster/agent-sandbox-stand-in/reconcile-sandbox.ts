import type { KubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';
import { isReason } from '#adapters/kubernetes/client/kubernetes-error.ts';
import { pointer } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { setStatus } from './set-status.ts';
import {
  type Collections,
  type Condition,
  CORE,
  owner,
  POD_NAME,
  type Sandbox,
  type SandboxPod,
} from './objects.ts';

/**
 * Gives a running Sandbox its volumes and its pod, removes the pod from a suspended one, and sets
 * its status.
 */
export async function reconcileSandbox(
  client: KubernetesClient,
  at: Collections,
  sandbox: Sandbox,
  pod: SandboxPod | undefined,
): Promise<void> {
  if (sandbox.metadata.deletionTimestamp !== undefined) return;
  const { name } = sandbox.metadata;
  const isWanted = sandbox.spec.operatingMode !== 'Suspended';
  if (isWanted && pod === undefined) {
    await makeVolumes(client, at, sandbox);
    await client.create(at.pods, podOf(sandbox)).catch(unlessThere);
    if (sandbox.metadata.annotations?.[POD_NAME] === undefined) {
      await client.mergePatch(at.sandboxes, name, { metadata: { annotations: { [POD_NAME]: name } } });
    }
  }
  if (!isWanted && pod !== undefined && pod.metadata.deletionTimestamp === undefined) {
    await client.delete(at.pods, name, { uid: pod.metadata.uid });
  }
  if (!isWanted && sandbox.metadata.annotations?.[POD_NAME] !== undefined) {
    const path = pointer('metadata', 'annotations', POD_NAME);
    await client.jsonPatch(at.sandboxes, name, [{ op: 'remove', path }]);
  }
  await setStatus(client, at.sandboxes, sandbox, {
    conditions: [ready(isWanted, pod)],
    ...(isWanted && pod?.status?.podIP !== undefined && { podIPs: [pod.status.podIP] }),
  });
}

function ready(isWanted: boolean, pod: SandboxPod | undefined): Condition {
  const said = (status: 'True' | 'False', reason: string, message: string): Condition => ({
    type: 'Ready',
    status,
    reason,
    message,
  });
  if (!isWanted) return said('False', 'SandboxSuspended', 'Sandbox is suspended');
  if (pod?.status?.phase === 'Failed')
    return said('False', 'PodFailed', pod.status.message ?? 'Pod has failed');
  const isReady = pod?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
  const isLeaving = pod?.metadata.deletionTimestamp !== undefined;
  return isReady && !isLeaving && pod?.status?.podIP !== undefined
    ? said('True', 'DependenciesReady', 'Pod is Ready')
    : said('False', 'DependenciesNotReady', 'Pod exists with phase: Pending');
}

async function makeVolumes(client: KubernetesClient, at: Collections, sandbox: Sandbox): Promise<void> {
  for (const { metadata, spec } of sandbox.spec.volumeClaimTemplates ?? []) {
    const volume = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        name: `${metadata.name}-${sandbox.metadata.name}`,
        ownerReferences: [owner(`${CORE}/v1beta1`, 'Sandbox', sandbox)],
      },
      spec,
    };
    await client.create(at.volumes, volume).catch(unlessThere);
  }
}

function podOf(sandbox: Sandbox): object {
  const { podTemplate, volumeClaimTemplates = [] } = sandbox.spec;
  const { name } = sandbox.metadata;
  const volumes = volumeClaimTemplates.map(({ metadata }) => ({
    name: metadata.name,
    persistentVolumeClaim: { claimName: `${metadata.name}-${name}` },
  }));
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      labels: podTemplate.metadata?.labels ?? {},
      ownerReferences: [owner(`${CORE}/v1beta1`, 'Sandbox', sandbox)],
    },
    spec: {
      terminationGracePeriodSeconds: 1,
      ...podTemplate.spec,
      volumes: [...(podTemplate.spec.volumes ?? []), ...volumes],
    },
  };
}

function unlessThere(error: unknown): void {
  if (!isReason(error, 'AlreadyExists')) throw error;
}
