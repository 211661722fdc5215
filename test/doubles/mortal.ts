import type { Records } from '#core/records.ts';
import type { SandboxCapacity } from '#core/sandboxes/sandbox-capacity.ts';
import type { SandboxRecords } from '#core/sandboxes/sandbox-records.ts';
import type { Sandboxes } from '#core/sandboxes/sandbox-provider.ts';

type Step = keyof Sandboxes | keyof SandboxRecords | keyof SandboxCapacity;

/**
 * A process that is killed right before, or right after, it first performs an action on a sandbox:
 * its later actions have no effect.
 */
export function mortal<T extends { readonly records: Records; readonly sandboxes: Sandboxes }>(
  services: T,
  when: 'before' | 'after',
  step: Step,
): T {
  let isDead = false;
  const dying = <P extends object>(port: P): P =>
    new Proxy(port, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        // SandboxService.for: the same process.
        if (name === 'for') return (...args: unknown[]) => dying(Reflect.apply(method, target, args) as P);
        return (...args: unknown[]): unknown => {
          const act = (): unknown => Reflect.apply(method, target, args);
          if (isDead) return Promise.reject(KILLED);
          if (name !== step) return act();
          isDead = true;
          if (when === 'before') return Promise.reject(KILLED);
          return Promise.resolve(act()).then(() => Promise.reject(KILLED));
        };
      },
    });
  const { records, sandboxes } = services;
  return {
    ...services,
    sandboxes: dying(sandboxes),
    records: { ...records, sandboxes: dying(records.sandboxes), capacity: dying(records.capacity) },
  };
}

const KILLED = new Error('killed');
