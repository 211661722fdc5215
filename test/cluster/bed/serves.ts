import { BUSYBOX_IMAGE } from './bed-images.ts';
import type { BedPlan } from './bed-plan.ts';
import type { Report } from './build-program.ts';
import type { Kubectl } from './kubectl.ts';
import { BED_GATEWAY } from './objects.ts';

/** Resolves when the node is ready, the Gateway is programmed, and a pod has run to its end. */
export async function serves(kubectl: Kubectl, bed: BedPlan, report: Report): Promise<void> {
  const wait = async (object: string, condition: string, namespace = 'default'): Promise<void> => {
    await kubectl(['wait', object, `--for=${condition}`, `--namespace=${namespace}`, '--timeout=120s']);
  };
  const run = async (): Promise<void> => {
    await wait('serviceaccount/default', 'create');
    await kubectl(['apply', '--filename=-'], JSON.stringify(firstPod));
    await wait(`pod/${firstPod.metadata.name}`, 'jsonpath={.status.phase}=Succeeded');
    await kubectl(['delete', 'pod', firstPod.metadata.name, '--now', '--wait=false']);
    report('a pod has run');
  };
  const node = async (): Promise<void> => {
    await wait(`node/${bed.nodeName}`, 'create');
    await wait(`node/${bed.nodeName}`, 'condition=Ready');
    report('the node is ready');
  };
  const gateway = async (): Promise<void> => {
    await wait(`gateway/${BED_GATEWAY.name}`, 'condition=Programmed', BED_GATEWAY.namespace);
    report('the Gateway is programmed');
  };
  await Promise.all([run(), node(), gateway()]);
}

const firstPod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'first' },
  spec: {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    containers: [{ name: 'first', image: BUSYBOX_IMAGE, command: ['true'] }],
  },
};
