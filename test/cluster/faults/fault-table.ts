import type { ApiCall, Fault } from '#test/doubles/api-server/fake-api-server.ts';

/** The faults of a call on its way to the API server and back. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  'no answer, before it took effect': { kind: 'silence', committed: false },
  'no answer, after it took effect': { kind: 'silence', committed: true },
  'a reset, before it took effect': { kind: 'reset', committed: false },
  'a reset, after it took effect': { kind: 'reset', committed: true },
  '409': { kind: 'status', status: 409, committed: false },
  '429 with Retry-After': { kind: 'status', status: 429, retryAfterSeconds: 1, committed: false },
  '500, before it took effect': { kind: 'status', status: 500, committed: false },
  '500, after it took effect': { kind: 'status', status: 500, committed: true },
  '503, before it took effect': { kind: 'status', status: 503, committed: false },
  '503, after it took effect': { kind: 'status', status: 503, committed: true },
  '503 with Retry-After': { kind: 'status', status: 503, retryAfterSeconds: 1, committed: false },
};

export const callOf = ({ verb, plural }: Pick<ApiCall, 'verb' | 'plural'>): string => `${verb} ${plural}`;

/** Injects the fault into the `first` to `last` of these calls. */
export function spoil(call: string, fault: Fault, first: number, last = first) {
  let times = 0;
  return (each: ApiCall): Fault | undefined => {
    if (callOf(each) !== call) return undefined;
    times += 1;
    return times >= first && times <= last ? fault : undefined;
  };
}
