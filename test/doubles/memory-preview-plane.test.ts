import { previewPlaneContract } from '#test/contracts/preview-plane.contract.ts';
import { memoryPreviewPlane } from './memory-preview-plane.ts';
import { pinnedClock } from './pinned-clock.ts';

const NOON = new Date('2026-03-01T12:00:00.000Z');

previewPlaneContract(
  'the plane in memory',
  async () => {
    const plane = memoryPreviewPlane({
      clock: pinnedClock(NOON),
      maxTotal: 40,
      readiness: ({ targetPort }) =>
        targetPort === 3000 ? { ready: true } : { ready: false, reason: 'nothing_listens' },
    });
    return {
      plane,
      capacity: 40,
      sandbox: { id: 'box', podName: 'box-pod', listens: 3000, silent: 3001 },
      now: () => NOON,
      reaches: async ({ token }) => plane.reaches(token),
      leavePartiallyMade: async (at) => void plane.partiallyMade.push(at),
      dispose: async () => undefined,
    };
  },
  { runs: 1_000 },
);
