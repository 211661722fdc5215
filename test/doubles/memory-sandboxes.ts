import type { TestProvider } from '#test/support/with-guests.ts';

/** Sandboxes that consist only of a state and a volume; any call may be the last of a process. */
export interface MemorySandboxes {
  readonly provider: TestProvider;
  /** All sandboxes with a volume. */
  readonly states: Map<string, 'running' | 'stopped'>;
  /** Number of steps until the process is killed; each call is two. @default unlimited */
  left: number;
  /** Awaited around each call, to let other processes act. @default no other process */
  turn: () => Promise<void>;
}

export function memorySandboxes(): MemorySandboxes {
  const states: MemorySandboxes['states'] = new Map();
  const step = () => {
    if (machine.left <= 0) throw new Error('killed');
    machine.left -= 1;
  };
  const move = (state: 'running' | 'stopped') => async (id: string) => {
    await machine.turn();
    step();
    if (state === 'running' || states.has(id)) states.set(id, state);
    await machine.turn();
    step();
  };
  const unused = () => Promise.reject(new Error('these sandboxes run no commands'));
  const provider: TestProvider = {
    name: 'local',
    defaultSize: { cpu: 1, memoryMb: 1_024, diskMb: 1_024 },
    enforcement: async () => ({
      cpu: null,
      memoryMb: null,
      diskMb: null,
      network: null,
      processes: null,
      systemCalls: null,
    }),
    runsImage: async () => true,
    create: ({ id }) => move('running')(id),
    resume: move('running'),
    stop: move('stopped'),
    async destroy(id) {
      await machine.turn();
      step();
      states.delete(id);
      await machine.turn();
      step();
    },
    inspect: async (id) => ({ state: states.get(id) ?? 'absent', podName: id }),
    connect: unused,
    exec: unused,
    dial: unused,
    callGuest: unused,
    async *list() {
      yield* states.keys();
    },
    close: async () => {},
  };
  const machine: MemorySandboxes = { provider, states, left: Infinity, turn: () => Promise.resolve() };
  return machine;
}
