import { exitCodeOfSignal } from '#protocol/guest/signals.ts';
import type { ProcessExit } from '#protocol/guest/processes-protocol.ts';

/** A shell reports signal n as the exit code 128 + n. */
const SIGNAL_BASE = 128;

/** How a process ended: with a code, as a shell reports it, or without a known exit. */
export type ExitOutcome =
  | {
      readonly state: 'exited';
      readonly exit: { readonly code: number; readonly signal?: number; readonly timedOut: boolean };
    }
  | { readonly state: 'error'; readonly error: { readonly code: string; readonly message: string } };

/** `sandbox_stopped` and `expired` have neither a code nor a signal. */
export function exitOutcome({ code, signal, reason }: ProcessExit): ExitOutcome {
  const timedOut = reason === 'timed_out';
  if (code !== null) return { state: 'exited', exit: { code, timedOut } };
  if (signal === null) {
    return { state: 'error', error: { code: reason, message: 'It ended with its sandbox.' } };
  }
  const shown = exitCodeOfSignal(signal);
  return { state: 'exited', exit: { code: shown, signal: shown - SIGNAL_BASE, timedOut } };
}
