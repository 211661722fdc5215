import {
  keptDetail,
  type KeptChange,
  type KeptDetail,
  type KeptOutput,
} from '#protocol/guest/details-protocol.ts';
import { OUTPUT_KEPT } from '#protocol/guest/http-protocol.ts';
import { processInfo } from '#protocol/guest/processes-protocol.ts';
import type { Caller } from '../callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { Guest } from '../processes/guest.ts';
import { collectOutput } from '../processes/collect-output.ts';
import { ANSWER_WITHIN } from '../processes/guest-answers.ts';
import { anySignal } from '#base/concurrency.ts';
import { type GuestDeps, reachGuest } from '../processes/reach-guest.ts';
import { type ActivityEvent, findActivity } from './activity.ts';
import type { RunRecord } from './run-records.ts';

/** What an event of a command, a process or a file leads to. */
export interface EventDetails {
  readonly output: KeptOutput | null;
  readonly change: KeptChange | null;
  /** Why both are null, as a sentence; null if one is set. */
  readonly missing: string | null;
}

type Deps = Pick<GuestDeps, 'records' | 'guests'> & {
  /** Removes Porthole's secrets: who may only view a run must not act as its agent. */
  readonly redact: (text: string) => string;
};

/**
 * The details of an event, from the guest of the run's sandbox. Resumes nothing. Only for who may
 * read the files of the sandbox, as the route of the file checks it.
 * @throws PortholeError `not_found` for an event that is not in the run, `exec_transport_error`
 */
export async function readEventDetails(
  deps: Deps,
  caller: Caller,
  run: RunRecord,
  eventId: string,
  signal?: AbortSignal,
): Promise<EventDetails> {
  const event = await findActivity(deps.records, run, eventId);
  if (event === undefined) {
    throw new PortholeError('not_found', `Run ${run.id} has no event ${eventId}`, {
      remedy: 'read the activity of the run: old events are deleted.',
    });
  }
  const { detail, process_id: processId } = event.data;
  try {
    const { guest } = await reachGuest(deps, caller, run.sandboxId);
    if (event.type.startsWith('process.') && typeof processId === 'string') {
      return ofOutput(deps, await processOutput(guest, processId, signal));
    }
    if (typeof detail !== 'string') return missing(NOT_RECORDED);
    const path = `/v1/details/${encodeURIComponent(detail)}`;
    const { value } = await guest.call('GET', path, keptDetail, { signal });
    return ofDetail(deps, event, detail, value);
  } catch (error) {
    const why = error instanceof PortholeError ? GONE[error.code as keyof typeof GONE] : undefined;
    if (why === undefined) throw error;
    return missing(why);
  }
}

/**
 * What the guest keeps of the output of a command or a process. Resumes nothing.
 * @throws PortholeError `not_found` for what is kept no longer, and like `readEventDetails`
 */
export async function readOutput(
  deps: Deps,
  { caller, run, signal }: { caller: Caller; run: RunRecord; signal: AbortSignal },
  source: { readonly detailId: string } | { readonly processId: string },
): Promise<KeptOutput> {
  const { guest } = await reachGuest(deps, caller, run.sandboxId);
  if ('processId' in source) {
    return withoutSecrets(deps, await processOutput(guest, source.processId, signal));
  }
  const path = `/v1/details/${encodeURIComponent(source.detailId)}`;
  const { value } = await guest.call('GET', path, keptDetail, { signal });
  if ('output' in value) return withoutSecrets(deps, withoutMark(value.output, source.detailId));
  throw new PortholeError('not_found', 'This is the id of a file, not of a command.');
}

const NOT_RECORDED = 'Porthole records no details of this event.';

/** By the error's code. */
const GONE = {
  sandbox_not_found: 'The details are gone: the sandbox was deleted.',
  sandbox_not_running:
    'The sandbox does not run. It keeps the output of processes, but not of commands, nor changes of files.',
  not_found: 'The details are no longer kept: the sandbox keeps those of its latest commands and files.',
} as const;

const OMITTED = {
  too_large: 'The file is larger than 128 KiB: its changes are not kept.',
  not_text: 'The file is not text: its changes are not kept.',
} as const;

function missing(why: string): EventDetails {
  return { output: null, change: null, missing: why };
}

function ofDetail(
  deps: Deps,
  { type }: Pick<ActivityEvent, 'type'>,
  id: string,
  detail: KeptDetail,
): EventDetails {
  if ('omitted' in detail) return missing(OMITTED[detail.omitted]);
  if ('change' in detail) {
    return type === 'file.written'
      ? { output: null, change: detail.change, missing: null }
      : missing(GONE.not_found);
  }
  return ofOutput(deps, withoutMark(detail.output, id));
}

function ofOutput(deps: Deps, output: KeptOutput): EventDetails {
  return { output: withoutSecrets(deps, output), change: null, missing: null };
}

function withoutSecrets({ redact }: Deps, { first, last, omitted_bytes }: KeptOutput): KeptOutput {
  return { first: redact(first), last: redact(last), omitted_bytes };
}

/** In a session and in a folder, the shell first prints the id. */
function withoutMark(output: KeptOutput, id: string): KeptOutput {
  return { ...output, first: output.first.replace(`${id}\n`, '') };
}

/** The beginning and the end of what the guest keeps of a process. */
async function processOutput(
  guest: Guest,
  processId: string,
  signal: AbortSignal | undefined,
): Promise<KeptOutput> {
  const path = `/v1/processes/${encodeURIComponent(processId)}`;
  const { output } = (await guest.call('GET', path, processInfo, { signal })).value;
  const until = anySignal(signal, AbortSignal.timeout(ANSWER_WITHIN));
  const read = (from: number, most: number) =>
    collectOutput(guest.events(`${path}/output?since=${from}`, until), most);
  const { first, last } = OUTPUT_KEPT;
  const size = output.next - output.first;
  if (size <= first + last) {
    const whole = await read(output.first, first + last);
    return { first: whole.toString(), last: '', omitted_bytes: output.first };
  }
  return {
    first: (await read(output.first, first)).toString(),
    last: (await read(output.next - last, last)).toString(),
    omitted_bytes: output.next - first - last,
  };
}
