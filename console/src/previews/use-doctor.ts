import { useState } from 'react';
import type { Answer } from '../api/client.ts';
import { type Loaded, useAnswer } from '../live/use-live.ts';
import type { RunEvent } from '../runs/event-labels.ts';

/** Port changes reported by a run's events. */
export interface PortChanges {
  /** The id of the last change: after each, other ports may listen. */
  readonly seen: string;
  /** False for functions in a cluster, which have no connection to each sandbox. */
  readonly areReported: boolean;
}

export function portChanges(events: readonly RunEvent[]): PortChanges {
  const last = events.findLast(({ type }) => /^(?:port|server|sandbox)\./.test(type));
  return { seen: last?.id ?? '', areReported: events.some(({ type }) => type === 'port.listening') };
}

/**
 * Poll intervals in milliseconds: `rarely` if changes are reported, `soon` while a listening server
 * starts to respond.
 */
const POLL_MS = { rarely: 60_000, often: 10_000, soon: 3_000 } as const;

type Diagnosis = Answer<'GET /api/runs/{id}/sandbox/doctor'>;

/**
 * The doctor's findings for a run's sandbox, or one port of it: refreshed after each reported
 * change, or by polling.
 */
export function useDoctor(
  runId: string,
  { seen, areReported }: PortChanges,
  port?: number,
): Loaded<Diagnosis> {
  const [every, setEvery] = useState<number>(POLL_MS.soon);
  const loaded = useAnswer(
    'GET /api/runs/{id}/sandbox/doctor',
    { path: { id: runId }, ...(port !== undefined && { query: { port: String(port) } }) },
    every,
    seen,
  );
  const { value } = loaded;
  const isBusy =
    value === undefined || value.ports.some(({ ready, listener }) => !ready && listener !== null);
  const isAway = port !== undefined && value?.ports.some(({ ready }) => ready) !== true;
  const next = nextLook({ isBusy, isAway, areReported, isOne: port !== undefined });
  if (next !== every) setEvery(next);
  return loaded;
}

function nextLook(now: Readonly<Record<'isBusy' | 'isAway' | 'areReported' | 'isOne', boolean>>): number {
  // A listener that is not an app, such as a database, must not be polled often.
  if (now.isBusy) return now.isOne ? POLL_MS.soon : POLL_MS.often;
  if (now.areReported) return POLL_MS.rarely;
  return now.isAway ? POLL_MS.soon : POLL_MS.often;
}
