import { type PortInfo, portList, portState, type PortState } from '#protocol/guest/ports-protocol.ts';
import type { Caller } from '../callers.ts';
import type { Guest } from './guest.ts';
import { type GuestDeps, reachGuest } from './reach-guest.ts';

/** Beyond the time that a wait may take, in ms. */
export const ANSWER_AFTER_WAIT = 10_000;

export interface PortsRef {
  readonly caller: Caller;
  readonly sandboxId: string;
  readonly signal?: AbortSignal | undefined;
}

/** What listens, ascending by port. */
export async function listPorts(
  deps: GuestDeps,
  { caller, sandboxId, signal }: PortsRef,
): Promise<readonly PortInfo[]> {
  const { guest } = await reachGuest(deps, caller, sandboxId);
  return (await guest.call('GET', '/v1/ports', portList, { signal })).value.ports;
}

/** @throws PortholeError `wait_timed_out` with the ports that listen */
export async function waitForPort(
  deps: GuestDeps,
  { caller, sandboxId, signal }: PortsRef,
  wait: PortWait,
): Promise<PortState> {
  const { guest } = await reachGuest(deps, caller, sandboxId);
  const end = deps.activity.begin(sandboxId);
  try {
    return await portReaches(guest, wait, signal);
  } finally {
    end();
  }
}

export interface PortWait {
  readonly port: number;
  readonly state: PortState['state'];
  readonly timeoutMs: number;
}

/** Like `waitForPort`, for Porthole itself, e.g. when it opens a preview. */
export async function portReaches(
  guest: Guest,
  { port, state, timeoutMs }: PortWait,
  signal?: AbortSignal,
): Promise<PortState> {
  const { value } = await guest.call('POST', `/v1/ports/${port}/wait`, portState, {
    body: { state, timeout_ms: timeoutMs },
    answerWithin: timeoutMs + ANSWER_AFTER_WAIT,
    signal,
  });
  return value;
}
