import { z } from 'zod';
import { DOMAIN } from './cluster-labels.ts';

const time = z.iso.datetime().transform((text) => new Date(text));

/** What a preview is started with, as a file holds it. Its route's annotations hold it, too. */
export const PreviewFactsSchema = z.strictObject({
  runId: z.string(),
  /** The user that owns the run. */
  owner: z.string(),
  sandboxId: z.string(),
  /** The pod that serves it; on one machine, the sandbox. */
  podName: z.string(),
  /** The port in the sandbox that it leads to. */
  targetPort: z.number(),
  startedAt: time,
  expiresAt: time,
  maxUntil: time,
});

export type PreviewFacts = Readonly<z.infer<typeof PreviewFactsSchema>>;

/** Without the absence of those that may be absent. */
type Values = { readonly [K in keyof PreviewFacts]-?: NonNullable<PreviewFacts[K]> };

/** How a value is stored in an annotation. */
interface Note<T> {
  readonly annotation: string;
  /** Admission refuses to change it. */
  readonly isFixed: boolean;
  readonly write: (value: T) => string;
  /** Undefined for text that was not written so. */
  readonly read: (text: string) => T | undefined;
}

function note<T>(name: string, write: Note<T>['write'], read: Note<T>['read']): Note<T> {
  return { annotation: `${DOMAIN}/${name}`, isFixed: true, write, read };
}

const textNote = (name: string) => note<string>(name, String, (text) => text || undefined);
const timeNote = (name: string) => note<Date>(name, formatTime, parseTime);

/** Names, writes, reads and fixes the annotation of each. */
export const PREVIEW_NOTES: { readonly [K in keyof Values]: Note<Values[K]> } = {
  runId: textNote('run'),
  owner: textNote('owner'),
  sandboxId: textNote('sandbox'),
  podName: textNote('pod'),
  targetPort: note<number>('target-port', String, parsePort),
  startedAt: timeNote('started-at'),
  expiresAt: { ...timeNote('expires-at'), isFixed: false },
  maxUntil: timeNote('max-until'),
};

export const NOTE_IDS = Object.keys(PREVIEW_NOTES) as readonly (keyof PreviewFacts)[];

/** The annotations of a preview's route. */
export function writeNotes(notes: PreviewFacts): Record<string, string> {
  const written = <K extends keyof PreviewFacts>(id: K) => {
    const { annotation, write }: Note<Values[K]> = PREVIEW_NOTES[id];
    const value = notes[id] as Values[K] | undefined;
    return value === undefined ? [] : [[annotation, write(value)]];
  };
  return Object.fromEntries(NOTE_IDS.flatMap(written));
}

/** Without the values that are missing or unreadable. */
export function readNotes(annotations: Readonly<Record<string, string>>): Partial<PreviewFacts> {
  const read = (id: keyof PreviewFacts) => {
    const text = annotations[PREVIEW_NOTES[id].annotation];
    const value = text === undefined ? undefined : PREVIEW_NOTES[id].read(text);
    return value === undefined ? [] : [[id, value]];
  };
  return Object.fromEntries(NOTE_IDS.flatMap(read));
}

const RFC_3339_UTC =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?Z$/;

/** RFC 3339 in UTC, with milliseconds. */
export function formatTime(time: Date): string {
  return time.toISOString();
}

/** The time in an annotation; undefined if it is not RFC 3339 in UTC. */
export function parseTime(text: string | undefined): Date | undefined {
  if (text === undefined || !RFC_3339_UTC.test(text)) return undefined;
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

/** A TCP port in decimal; undefined otherwise. */
function parsePort(text: string): number | undefined {
  if (!/^[1-9]\d{0,4}$/.test(text)) return undefined;
  const port = Number(text);
  return port <= 65_535 ? port : undefined;
}
