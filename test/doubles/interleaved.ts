import type { PreviewPlane } from '#core/ports/preview-plane.ts';
import type { PreviewRecords, Records } from '#core/ports/records.ts';
import { collect } from '#test/support/collect.ts';

/** Somebody else's turn: resolves when it is ours again. */
export type Turn = (label: string) => Promise<void>;

/**
 * A plane as it is met across a network: others may act between the call and its effect, and between the effect and its answer. `did` hears of each effect in the
 * very turn in which it happens.
 */
export function interleavedPlane<P extends PreviewPlane>(
  plane: P,
  turn: Turn,
  did: <M extends keyof PreviewPlane>(method: M, args: unknown[], result: unknown) => void = () => undefined,
): PreviewPlane {
  const around =
    <Args extends unknown[], Result>(method: keyof PreviewPlane, call: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      await turn(`${method} asked`);
      const result = await call(...args);
      did(method, args, result);
      await turn(`${method} answered`);
      return result;
    };
  return {
    hasUrls: plane.hasUrls,
    open: around('open', plane.open),
    serves: around('serves', plane.serves),
    find: around('find', plane.find),
    touch: around('touch', plane.touch),
    close: around('close', plane.close),
    sweep: around('sweep', plane.sweep),
    async *list(filter, signal) {
      await turn('list asked');
      const seen = await collect(plane.list(filter, signal));
      await turn('list answered');
      yield* seen;
    },
  };
}

/** Records as they are met across a network; each call is one transaction, so nothing happens within it. */
export function interleavedRecords(records: Records, turn: Turn): Records {
  const between = <T extends object>(store: T): T =>
    new Proxy(store, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return async (...args: unknown[]): Promise<unknown> => {
          await turn(`${String(name)} asked`);
          const result: unknown = await Reflect.apply(method, target, args);
          await turn(`${String(name)} answered`);
          return result;
        };
      },
    });
  return {
    ...records,
    runs: between(records.runs),
    sandboxes: between(records.sandboxes),
    previews: between<PreviewRecords>(records.previews),
  };
}
