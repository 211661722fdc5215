import { useState } from 'react';
import type { Answer } from '../api/client.ts';
import { type Loaded, useAnswer } from '../live/use-live.ts';
import type { RunEvent } from '../runs/event-labels.ts';

/** What a run's events tell of the ports in its sandbox. */
export interface PortChanges {
  /** The id of the last change: after each, something else may listen. */
  readonly seen: string;
  /** Functions in a cluster have no connection to each sandbox: there nothing is reported. */
  readonly areReported: boolean;
}

export function portChanges(events: readonly RunEvent[]): PortChanges {
  const last = events.findLast(({ type }) => /^(?:port|server|sandbox)\./.test(type));
  return { seen: last?.id ?? '', areReported: events.some(({ type }) => type === 'port.listening') };
}

/**
 * Between looks, in milliseconds: `rarely` where each change is reported, `soon` while a server
 * that listens is about to answer.
 */
const POLL_MS = { rarely: 60_000, often: 10_000, soon: 3_000 } as const;

type Diagnosis = Answer<'GET /api/runs/{id}/sandbox/doctor'>;

/**
 * What the doctor finds in a run's sandbox, or at one port of it: asked again after each change
 * that is reported, and by the clock where none is.
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
  // What listens and is no app, such as a database, must not be asked all the time.
  if (now.isBusy) return now.isOne ? POLL_MS.soon : POLL_MS.often;
  if (now.areReported) return POLL_MS.rarely;
  return now.isAway ? POLL_MS.soon : POLL_MS.often;
}
