import { expect, test } from '@jest/globals';
import { type Pod, podState } from '#adapters/kubernetes/sandboxes/pod-state.ts';
import { guestPod } from '#protocol/guest/guest-pod.ts';

const metadata = { name: 'box', uid: 'u1', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
const spec = { containers: [{ name: 'sidecar' }, { name: 'sandbox' }] };
const ready = [{ type: 'Ready', status: 'True' }];
const running = { name: 'sandbox', state: { running: {} } };
const pod = (status: Pod['status'], more: Partial<Pod> = {}): Pod => ({
  metadata,
  spec,
  ...more,
  ...(status && { status }),
});
const waiting = (reason: string, message: string) =>
  pod({ containerStatuses: [{ name: 'sandbox', state: { waiting: { reason, message } } }] });

test.each<[string, Pod | undefined, object]>([
  ['no pod', undefined, { state: 'absent' }],
  [
    'a pod that is ready',
    pod({ phase: 'Running', conditions: ready, containerStatuses: [running] }),
    {
      state: 'running',
      pod: { name: 'box', uid: 'u1' },
    },
  ],
  [
    'a pod with one container of another name',
    pod(
      { conditions: ready, containerStatuses: [{ ...running, name: 'main' }] },
      { spec: { containers: [{ name: 'main' }] } },
    ),
    { state: 'running', pod: { name: 'box', uid: 'u1' } },
  ],
  [
    'a pod that runs the guest',
    pod(
      { conditions: ready, containerStatuses: [running], podIPs: [{ ip: '10.0.0.1' }] },
      { spec: { containers: [{ name: 'sandbox', command: guestPod('key', {}).command }] } },
    ),
    {
      state: 'running',
      pod: {
        name: 'box',
        uid: 'u1',
        address: '10.0.0.1',
        guestKeys: 'key',
      },
    },
  ],
  [
    'a pod with an image without the guest',
    waiting('RunContainerError', 'exec: "/porthole/node": stat /porthole/node: no such file or directory'),
    {
      state: 'creating',
      reason: expect.stringContaining('COPY --from=porthole/guest /porthole /porthole'),
      isHopeless: true,
    },
  ],
  [
    'a pod on its way out, ready as it may be',
    pod(
      { conditions: ready, containerStatuses: [running] },
      { metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } },
    ),
    { state: 'ending', reason: 'it is being stopped' },
  ],
  [
    'a pod without a status',
    pod(undefined),
    { state: 'creating', reason: 'its pod is coming up', isHopeless: false },
  ],
  [
    'a pod of a lost node',
    pod({ phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }], containerStatuses: [running] }),
    { state: 'creating', reason: 'its pod is not ready: its node may be down', isHopeless: false },
  ],
  [
    'a pod that finds no node',
    pod({
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes' }],
    }),
    { state: 'creating', reason: 'Unschedulable: 0/1 nodes', isHopeless: false, lacks: 'node' },
  ],
  [
    'a pod with an image that cannot be pulled',
    waiting('ImagePullBackOff', 'Back-off pulling image "x"'),
    {
      state: 'creating',
      reason: 'ImagePullBackOff: Back-off pulling image "x"',
      isHopeless: false,
      lacks: 'image',
    },
  ],
  [
    'a pod with an invalid image name',
    waiting('InvalidImageName', 'no'),
    { state: 'creating', reason: 'InvalidImageName: no', isHopeless: true },
  ],
  [
    'a pod with an image that the runtime cannot read',
    waiting('ErrImagePull', 'failed to parse image reference "NO": invalid reference format'),
    {
      state: 'creating',
      isHopeless: true,
      lacks: 'image',
      reason: expect.stringContaining('ErrImagePull: failed to parse'),
    },
  ],
  [
    'a pod that was evicted',
    pod({ phase: 'Failed', reason: 'Evicted', message: 'The node was low on memory' }),
    { state: 'ended', reason: 'Evicted: The node was low on memory' },
  ],
  ['a pod that has ended', pod({ phase: 'Succeeded' }), { state: 'ended', reason: 'its pod has succeeded' }],
])('%s', (_title, of, state) => {
  expect(podState(of)).toEqual(state);
});

test('limits the length of a reason', () => {
  const state = podState(waiting('ErrImagePull', 'x'.repeat(10_000)));
  expect(state).toMatchObject({ reason: expect.stringMatching(/^ErrImagePull: x{486}$/) });
});
