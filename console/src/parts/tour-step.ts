/** The steps of the tour; `none`: not begun, or ended. */
export type TourStep = 1 | 2 | 3 | 'none';

/** A preference, not a secret: stored in the browser. An ended tour begins only on request. */
const KEY = 'porthole-tour';
const ENDED = 'ended';

let step: TourStep = readStep();
const listeners = new Set<() => void>();

function readStep(): TourStep {
  const kept = Number(localStorage.getItem(KEY));
  return kept === 1 || kept === 2 || kept === 3 ? kept : 'none';
}

export function tourStep(): TourStep {
  return step;
}

/** Shows a step; `none` ends the tour for good. */
export function showTourStep(next: TourStep): void {
  step = next;
  localStorage.setItem(KEY, next === 'none' ? ENDED : String(next));
  for (const listener of listeners) listener();
}

/** Begins the tour of a new user, unless it was ended before. Nothing is stored yet. */
export function offerTour(): void {
  if (step !== 'none' || localStorage.getItem(KEY) !== null) return;
  step = 1;
  for (const listener of listeners) listener();
}

/** @returns a function that removes the listener */
export function onTour(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
