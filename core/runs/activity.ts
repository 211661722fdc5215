import type { SandboxEvent, SandboxEventType } from '../sandboxes/sandbox-events.ts';
import type { Records } from '../records.ts';
import type { RunRecord } from './run-records.ts';
import type { EventData, RunEventType } from './timeline.ts';

/**
 * Sandbox events that are not in the timelines of its runs, with their type in the activity log.
 */
const OF_SANDBOX = {
  exec: 'command.exited',
  file_written: 'file.written',
  file_deleted: 'file.deleted',
  network: 'network.requested',
} as const satisfies Partial<Record<SandboxEventType, string>>;

export const SANDBOX_ACTIVITY_TYPES = Object.values(OF_SANDBOX);
export type ActivityType = RunEventType | (typeof SANDBOX_ACTIVITY_TYPES)[number];

/** Position in both logs: the number of the last known event; 0 before the first. */
export interface ActivityPosition {
  readonly run: number;
  readonly sandbox: number;
}

export interface ActivityEvent {
  /** Where the activity goes on after this event. */
  readonly seq: ActivityPosition;
  /** `r` or `s` with the number in the log of the run or of the sandbox. */
  readonly id: string;
  readonly type: ActivityType;
  readonly at: Date;
  readonly data: EventData;
}

interface ActivityLog {
  read(
    id: string,
    page: { readonly after: ActivityPosition; readonly limit: number },
  ): Promise<{ readonly events: readonly ActivityEvent[]; readonly more: boolean }>;
  watch(id: string, wake: () => void): () => void;
}

/**
 * The activity of a run: its timeline, and the events of its sandbox while it was active. Each
 * event occurs once, ordered by time. Events that were written late come late.
 */
export function activityLog(
  { timeline, sandboxEvents }: Pick<Records, 'timeline' | 'sandboxEvents'>,
  {
    id,
    sandboxId,
    createdAt,
    completedAt,
  }: Pick<RunRecord, 'id' | 'sandboxId' | 'createdAt' | 'completedAt'>,
): ActivityLog {
  const run = { id, sandboxId, createdAt, completedAt };
  return {
    async read(_id, { after, limit }) {
      const events: ActivityEvent[] = [];
      let at = after;
      for (;;) {
        const page = await mergedPage({ timeline, sandboxEvents }, run, at, limit);
        run.completedAt ??= page.completedAt;
        events.push(...page.events);
        // A page of events that all belong elsewhere is not the end.
        if (page.events.length > 0 || !page.more) return { events, more: page.more };
        at = page.at;
      }
    },

    watch(_id, wake) {
      const ends = [timeline.watch(run.id, wake), sandboxEvents.watch(run.sandboxId, wake)];
      return () => {
        for (const end of ends) end();
      };
    },
  };
}

/** An event of the activity by its id; undefined if the run does not have it, or no longer. */
export async function findActivity(
  { timeline, sandboxEvents }: Pick<Records, 'timeline' | 'sandboxEvents'>,
  run: RunRecord,
  id: string,
): Promise<Omit<ActivityEvent, 'seq'> | undefined> {
  const seq = Number(id.slice(1));
  const page = { after: seq - 1, limit: 1 };
  if (id.startsWith('r')) {
    const [event] = (await timeline.read(run.id, page)).events;
    return event?.seq === seq ? { ...event, id } : undefined;
  }
  const [event] = (await sandboxEvents.read(run.sandboxId, page)).events;
  const type = event?.seq === seq ? typeInRun(event, run, run.completedAt) : undefined;
  return event === undefined || type === undefined ? undefined : { ...event, id, type };
}

/** The type of an event of the sandbox in the activity; undefined if it does not belong to it. */
function typeInRun(
  { type, at }: SandboxEvent,
  { createdAt }: Pick<RunRecord, 'createdAt'>,
  completedAt: Date | null,
): ActivityType | undefined {
  const isOfRun = at >= createdAt && (completedAt === null || at <= completedAt);
  return isOfRun ? OF_SANDBOX[type as keyof typeof OF_SANDBOX] : undefined;
}

async function mergedPage(
  { timeline, sandboxEvents }: Pick<Records, 'timeline' | 'sandboxEvents'>,
  run: Pick<RunRecord, 'id' | 'sandboxId' | 'createdAt' | 'completedAt'>,
  after: ActivityPosition,
  limit: number,
): Promise<{
  readonly events: readonly ActivityEvent[];
  readonly more: boolean;
  readonly at: ActivityPosition;
  readonly completedAt: Date | null;
}> {
  const [ofRun, ofSandbox] = await Promise.all([
    timeline.read(run.id, { after: after.run, limit }),
    sandboxEvents.read(run.sandboxId, { after: after.sandbox, limit }),
  ]);
  const completed = ofRun.events.findLast(({ type }) => type === 'run.completed');
  const completedAt = run.completedAt ?? completed?.at ?? null;
  const events: ActivityEvent[] = [];
  let at = after;
  let [nextOfRun, nextOfSandbox] = [0, 0];
  while (events.length < limit) {
    const [own, other] = [ofRun.events[nextOfRun], ofSandbox.events[nextOfSandbox]];
    // The next page of that log may have earlier events than the other log.
    if ((own === undefined && ofRun.more) || (other === undefined && ofSandbox.more)) break;
    if (own !== undefined && (other === undefined || own.at <= other.at)) {
      nextOfRun += 1;
      at = { ...at, run: own.seq };
      events.push({ ...own, seq: at, id: `r${own.seq}` });
    } else if (other !== undefined) {
      nextOfSandbox += 1;
      at = { ...at, sandbox: other.seq };
      const type = typeInRun(other, run, completedAt);
      if (type !== undefined) events.push({ ...other, type, seq: at, id: `s${other.seq}` });
    } else break;
  }
  const more =
    ofRun.more ||
    ofSandbox.more ||
    nextOfRun < ofRun.events.length ||
    nextOfSandbox < ofSandbox.events.length;
  return { events, more, at, completedAt };
}
