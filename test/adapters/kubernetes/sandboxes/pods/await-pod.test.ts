/** Events that end a wait for a pod. */
import { describe, expect, test } from '@jest/globals';
import { withNode } from '#adapters/kubernetes/sandboxes/cluster-provider.ts';
import type { Pod } from '#adapters/kubernetes/sandboxes/pod-state.ts';

const pod = (scheduled?: string): Pod => ({
  metadata: { name: 'box', uid: 'u1', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { containers: [{ name: 'sandbox' }] },
  status: {
    conditions:
      scheduled === undefined
        ? []
        : [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: scheduled }],
  },
});
const NO_ROOM = '0/1 nodes are available: 1 Insufficient cpu.';
const never = () => new AbortController().signal;
/** Work that continues until it is aborted. */
const endless = (until: AbortSignal) =>
  new Promise<never>((_resolve, reject) =>
    until.addEventListener('abort', () => reject(until.reason as Error), { once: true }),
  );

describe('waiting for a node', () => {
  test('ends with the scheduler’s reason, long before the wait for the pod does', async () => {
    let asked = 0;
    const makeRoom = async () => void (asked += 1);
    const waiting = withNode('box', never(), async () => pod(NO_ROOM), endless, 100, makeRoom);
    await expect(waiting).rejects.toMatchObject({
      code: 'capacity_exceeded',
      message: expect.stringContaining('Insufficient cpu'),
    });
    expect(asked).toBe(1);
  });

  test('ends with the kubelet’s reason where the image cannot be pulled, and makes no room for it', async () => {
    const unpulled: Pod = {
      ...pod(),
      status: {
        containerStatuses: [
          { name: 'sandbox', state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } } },
        ],
      },
    };
    let asked = 0;
    const makeRoom = async () => void (asked += 1);
    const waiting = withNode('box', never(), async () => unpulled, endless, 100, makeRoom);
    await expect(waiting).rejects.toMatchObject({
      code: 'sandbox_not_running',
      message: expect.stringContaining('ImagePullBackOff: no such image'),
      remedy: expect.stringContaining('pull secret'),
    });
    expect(asked).toBe(0);
  });

  test('goes on where a node is found, where the look fails, and where the pod is not there yet', async () => {
    const looks: (() => Promise<Pod | undefined>)[] = [
      async () => undefined,
      async () => pod(NO_ROOM),
      async () => Promise.reject(new Error('no answer')),
      async () => pod(NO_ROOM),
      async () => pod(),
    ];
    let at = 0;
    const over = new AbortController();
    const look = async () => {
      at += 1;
      if (at > 60) over.abort(new Error('still waiting'));
      return (looks[at % looks.length] ?? pod)();
    };
    await expect(withNode('box', over.signal, look, endless, 60)).rejects.toThrow('still waiting');
  });

  test('is over with the work', async () => {
    let looked = 0;
    const look = async () => {
      looked += 1;
      return pod(NO_ROOM);
    };
    expect(await withNode('box', never(), look, async () => 'ran', 1)).toBe('ran');
    expect(looked).toBe(0);
  });
});
