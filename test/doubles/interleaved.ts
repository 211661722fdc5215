import type { PreviewPlane } from '#core/previews/preview-plane.ts';
import type { PreviewRecords } from '#core/previews/preview-records.ts';
import type { Records } from '#core/records.ts';
import { collect } from '#test/support/collect.ts';

/** Lets other processes act; resolves when the caller may continue. */
export type Turn = (label: string) => Promise<void>;

/**
 * A plane behind a network: others may act between the call and its effect, and between the effect
 * and its response.
 */
export function interleavedPlane(plane: PreviewPlane, turn: Turn): PreviewPlane {
  const around = <
    M extends Exclude<
      keyof PreviewPlane,
      'hasUrls' | 'needsOpenAddress' | 'seesTraffic' | 'urlOf' | 'ports' | 'list' | 'setAttached' | 'examine'
    >,
  >(
    method: M,
  ): PreviewPlane[M] => {
    const call = async (...args: unknown[]): Promise<unknown> => {
      await turn(`${method} asked`);
      const result: unknown = await Reflect.apply(plane[method], plane, args);
      await turn(`${method} answered`);
      return result;
    };
    return call as PreviewPlane[M];
  };
  return {
    hasUrls: plane.hasUrls,
    needsOpenAddress: plane.needsOpenAddress,
    seesTraffic: plane.seesTraffic,
    urlOf: (host) => plane.urlOf(host),
    open: around('open'),
    awaitReady: around('awaitReady'),
    find: around('find'),
    findNamed: around('findNamed'),
    setAccess: around('setAccess'),
    touch: around('touch'),
    lastUsed: around('lastUsed'),
    close: around('close'),
    isAmongFirst: around('isAmongFirst'),
    sweep: around('sweep'),
    async *list(filter, signal) {
      await turn('list asked');
      const seen = await collect(plane.list(filter, signal));
      await turn('list answered');
      yield* seen;
    },
  };
}

/** Records behind a network; each call is one transaction, so no other process acts within it. */
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
    capacity: between(records.capacity),
    previews: between<PreviewRecords>(records.previews),
    timeline: { ...between(records.timeline), watch: records.timeline.watch },
  };
}
