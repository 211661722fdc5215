import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { type Caller, mayManage, type Person } from '../callers.ts';
import type { Tokens } from '../auth/authenticator.ts';
import { hashPassword, type Passwords } from '../auth/passwords.ts';
import type { Clock, Ids, Owner } from '#base/clock-and-ids.ts';
import { PortholeError } from '#base/errors.ts';
import {
  type AccessLevel,
  isWider,
  MAX_REVOKED_LINKS,
  OPEN_ACCESS,
  type PreviewAccess,
} from '#protocol/preview-access.ts';
import { PASS_MS, TICKET_MS, type TicketKind } from '#protocol/guest/visit-tickets.ts';
import type { Records } from '../records.ts';
import type { RunRecord } from '../runs/run-records.ts';
import type { KnownPreview } from './asleep-previews.ts';
import type { PortAccess, PreviewLink, PreviewVisit } from './access-store.ts';
import { changeName, givenNameOf } from './named-previews.ts';
import { previewVisited } from './preview-events.ts';
import { type AccessLevels, levelsOf, type PreviewOptions } from './preview-limits.ts';
import type { Preview, PreviewPlane } from './preview-plane.ts';

/** Links of one port. */
const MAX_LINKS = 100;
/** Remembered visitors of one port: people by one link, and others by one link. */
const MAX_VISITORS = { people: 1_000, anonymous: 200 };
/** When a visit ends at the latest, in milliseconds: as long as a browser session. */
const VISIT_MS = 12 * 3_600_000;

export interface AccessDeps {
  readonly plane: Pick<PreviewPlane, 'setAccess'>;
  readonly records: Pick<Records, 'access' | 'previewNames' | 'runs' | 'timeline'>;
  readonly tokens: Pick<Tokens, 'signTicket' | 'pseudonym'>;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'link'>;
  readonly previewSettings: Pick<
    PreviewOptions,
    'access' | 'maxAccess' | 'zones' | 'zoneSuffix' | 'maxNamesPerOwner'
  >;
}

/** Default and maximum of the access to the previews of a run. */
export async function levelsOfRun(
  { records, previewSettings }: Pick<AccessDeps, 'previewSettings' | 'records'>,
  runId: string,
): Promise<AccessLevels> {
  const { zones } = previewSettings;
  // One zone sets the same for everyone, without a read.
  const isOne = zones.every(({ access, maxAccess }) => access === undefined && maxAccess === undefined);
  const run = isOne ? undefined : await records.runs.get(runId);
  return run === undefined ? previewSettings : levelsOf(previewSettings, run.owner.org);
}

/**
 * The access of a port: what its owner chose, or the default, and never wider than the maximum. A
 * name has no effect at the level `link`: everyone could guess the way in.
 */
export function allowedAccess(
  stored: PreviewAccess | undefined,
  { access, maxAccess }: AccessLevels,
  name?: string,
): PreviewAccess {
  const { level: chosen, epoch, revoked } = stored ?? { ...OPEN_ACCESS, level: access };
  const level = isWider(chosen, maxAccess) ? maxAccess : chosen;
  return { level, epoch, revoked, ...(name !== undefined && level !== 'link' && { name }) };
}

/** The access of a preview's port. */
export async function accessOf(
  deps: Pick<AccessDeps, 'previewSettings' | 'records'>,
  { runId, targetPort }: Pick<Preview, 'runId' | 'targetPort'>,
): Promise<PreviewAccess> {
  const [stored, levels, given] = await Promise.all([
    deps.records.access.get(runId, targetPort),
    levelsOfRun(deps, runId),
    givenNameOf(deps, { runId, targetPort }),
  ]);
  return allowedAccess(stored, levels, given?.name);
}

/** Who can open a preview, as a sentence for the person who is asked about it. */
export const AUDIENCES: Readonly<Record<AccessLevel, string>> = {
  owner: 'Only the owner of the run and admins can see the app.',
  org: "Everyone in the owner's organisation can see the app.",
  signed_in: 'Everyone who is signed in can see the app.',
  password: 'Everyone who knows its password can see the app.',
  link: 'Anyone with the link can see the app.',
};

export interface AccessChange {
  readonly preview: Preview | KnownPreview;
  readonly level: AccessLevel;
  readonly password?: string | undefined;
  /** Null: none. @default - the one that it has */
  readonly name?: string | null | undefined;
}

/**
 * Sets who may open a preview, and its name, now and after each later start. Ends all visits.
 * @throws PortholeError `invalid_request` for a level above the maximum, for a password that is
 * missing or has no use, and for a name that is refused; `conflict`, `quota_exceeded`
 */
export async function changeAccess(
  deps: AccessDeps,
  { preview, level, password, name }: AccessChange,
  signal?: AbortSignal,
): Promise<PreviewAccess> {
  const { plane, records } = deps;
  const levels = await levelsOfRun(deps, preview.runId);
  checkLevel(level, levels);
  if (level === 'password' && password === undefined) {
    throw new PortholeError('invalid_request', 'password: the level password needs one', {
      remedy: 'send a password.',
    });
  }
  if (level !== 'password' && password !== undefined) {
    throw new PortholeError('invalid_request', `password: the level ${level} has none`, {
      remedy: 'leave it out, or choose the level password.',
    });
  }
  if (name !== undefined) await changeName(deps, preview, name, level);
  const hashed = password === undefined ? null : await hashPassword(password);
  const changed = await records.access.change(preview.runId, preview.targetPort, (known) => ({
    level,
    epoch: (known?.epoch ?? 0) + 1,
    revoked: [],
    password: hashed,
  }));
  const access = allowedAccess(changed, levels, (await givenNameOf(deps, preview))?.name);
  await enforce(plane, preview, access, signal);
  return access;
}

/** If the sandbox does not run, the preview gets the access of its port when that is resumed. */
async function enforce(
  plane: AccessDeps['plane'],
  preview: Preview | KnownPreview,
  access: PreviewAccess,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!isLive(preview)) return;
  try {
    await plane.setAccess(preview, access, signal);
  } catch (error) {
    const isDown = error instanceof PortholeError && error.code === 'sandbox_not_running';
    if (preview.isDetached !== true || !isDown) throw error;
  }
}

/** False for one that is asleep: it starts with the access of its port. */
export function isLive(preview: Preview | KnownPreview): preview is Preview {
  return 'uid' in preview;
}

/** @throws PortholeError `invalid_request` for a level above the maximum */
export function checkLevel(level: AccessLevel, { maxAccess }: Pick<AccessLevels, 'maxAccess'>): void {
  if (!isWider(level, maxAccess)) return;
  throw new PortholeError(
    'invalid_request',
    `level: ${level} is above the maximum of this installation, ${maxAccess}`,
    { remedy: `choose ${maxAccess} or a stricter level.`, details: { maximum: maxAccess } },
  );
}

export interface NewLink {
  readonly label: string;
  readonly level: PreviewLink['level'];
  readonly password?: string | undefined;
  /** @default false */
  readonly mayWake?: boolean | undefined;
  readonly expiresAt?: Date | undefined;
  readonly maxUses?: number | undefined;
  /** With its secret: creating it again does nothing. @default - a new one */
  readonly id?: string | undefined;
  /** @default - a random one */
  readonly secret?: string | undefined;
}

/**
 * An invitation to a preview. The secret is in the answer alone.
 * @throws PortholeError `invalid_request`, `quota_exceeded`
 */
export async function createLink(
  deps: PassDeps,
  { preview, by, ...asked }: NewLink & { readonly preview: KnownPreview; readonly by: string },
): Promise<{ readonly link: PreviewLink; readonly secret: string }> {
  const { records, ids, clock } = deps;
  checkLevel(asked.level, await levelsOfRun(deps, preview.runId));
  const { id = ids.link(), secret = randomBytes(24).toString('base64url') } = asked;
  const link: PreviewLink = {
    id,
    runId: preview.runId,
    targetPort: preview.targetPort,
    label: asked.label,
    level: asked.level,
    digest: digestOf(secret),
    password: asked.password === undefined ? null : await hashPassword(asked.password),
    mayWake: asked.mayWake ?? false,
    uses: 0,
    maxUses: asked.maxUses ?? null,
    createdBy: by,
    createdAt: clock.now(),
    expiresAt: asked.expiresAt ?? null,
    lastUsedAt: null,
  };
  if (await records.access.addLink(link, MAX_LINKS)) return { link, secret };
  throw new PortholeError(
    'quota_exceeded',
    `Port ${preview.targetPort} has ${MAX_LINKS} links, the maximum`,
    {
      remedy: 'revoke one first.',
    },
  );
}

/**
 * Ends a link, and the visits of those who came by it.
 * @throws PortholeError `not_found`
 */
export async function revokeLink(
  deps: AccessDeps,
  { preview, linkId }: { readonly preview: Preview | KnownPreview; readonly linkId: string },
  signal?: AbortSignal,
): Promise<void> {
  const { plane, records } = deps;
  const { runId, targetPort } = preview;
  const [link, stored, levels, given] = await Promise.all([
    records.access.link(linkId),
    records.access.get(runId, targetPort),
    levelsOfRun(deps, runId),
    givenNameOf(deps, preview),
  ]);
  const isOfPort = link?.runId === runId && link.targetPort === targetPort;
  // A revocation that did not reach the guest may be repeated.
  if (!isOfPort && stored?.revoked.includes(linkId) !== true) {
    throw new PortholeError('not_found', `This preview has no link ${JSON.stringify(linkId)}`, {
      remedy: 'GET …/links lists those that it has.',
    });
  }
  const changed = await records.access.change(runId, targetPort, (known) =>
    withoutLink(known ?? { ...OPEN_ACCESS, level: levels.access, password: null }, linkId),
  );
  if (isOfPort) await records.access.removeLink(linkId);
  await enforce(plane, preview, allowedAccess(changed, levels, given?.name), signal);
}

/** With too many revoked links a new epoch ends every visit instead. */
export function withoutLink(access: PortAccess, linkId: string): PortAccess {
  const { epoch, revoked } = access;
  if (revoked.includes(linkId)) return access;
  return revoked.length < MAX_REVOKED_LINKS
    ? { ...access, revoked: [...revoked, linkId] }
    : { ...access, epoch: epoch + 1, revoked: [] };
}

/** What a visitor shows to get in. */
export interface Visitor {
  readonly caller: Caller | undefined;
  readonly link?: { readonly id: string; readonly secret: string } | undefined;
  readonly password?: string | undefined;
  /** Source address of the request. */
  readonly address?: string | undefined;
  /** Whether the visitor knows the URL, not only the name, of the preview. @default false */
  readonly knowsUrl?: boolean | undefined;
  /**
   * Tells visitors without a name apart.
   * @default - a new visitor
   */
  readonly anonymous?: string | undefined;
}

export type Entry =
  | { readonly kind: 'enters'; readonly ticket: string }
  /** The preview is open to everyone who has its URL. */
  | { readonly kind: 'open' }
  /** The visitor may try again with what is missing. */
  | { readonly kind: 'needs'; readonly what: 'sign_in' | 'password' }
  /** The same for everything else, so that no one learns whether a link or a preview exists. */
  | { readonly kind: 'refused' };

/** What lets a visitor into a preview. Nothing is counted or recorded yet. */
export interface Admission {
  readonly kind: 'passes';
  readonly run: RunRecord;
  readonly access: PreviewAccess;
  /** Of the visitor. */
  readonly level: AccessLevel;
  readonly link?: PreviewLink | undefined;
  readonly visit: Omit<PreviewVisit, 'firstAt' | 'lastAt'>;
  /** Whether the link is used up, and this visitor is one who came by it. */
  readonly isBack: boolean;
}

export type AdmissionDeps = Pick<AccessDeps, 'records' | 'tokens' | 'clock' | 'previewSettings'> & {
  readonly passwords: Pick<Passwords, 'check'>;
};

/** Whether a visitor may enter a preview, live or asleep. */
export async function admitVisitor(
  deps: AdmissionDeps,
  { preview, visitor }: { readonly preview: KnownPreview; readonly visitor: Visitor },
): Promise<Admission | Extract<Entry, { kind: 'needs' | 'refused' }>> {
  const { records, tokens } = deps;
  const { runId, targetPort } = preview;
  const [run, stored] = await Promise.all([records.runs.get(runId), records.access.get(runId, targetPort)]);
  if (run === undefined || (await records.access.blockOf(run.owner)) !== undefined)
    return { kind: 'refused' };
  const levels = levelsOf(deps.previewSettings, run.owner.org);
  const access = allowedAccess(stored, levels);
  const { maxAccess } = levels;
  const found = await wayIn(deps, { preview, owner: run.owner, stored, access, maxAccess, visitor });
  if (found.kind !== 'passes') return found;
  const { level, link } = found;
  const { caller, anonymous = randomUUID() } = visitor;
  const viewer = caller?.kind === 'person' ? caller.user : tokens.pseudonym(preview.name, anonymous);
  const visit = { runId, targetPort, viewer, linkId: link?.id ?? '' };
  const isUsedUp = link !== undefined && link.maxUses !== null && link.uses >= link.maxUses;
  if (isUsedUp && !(await records.access.hasVisited(visit))) return { kind: 'refused' };
  return { kind: 'passes', run, access, level, link, visit, isBack: isUsedUp };
}

/** The ticket of a visitor who was admitted to a preview. */
export async function enterPreview(
  deps: AccessDeps,
  {
    preview,
    visitor,
    admitted: { access, level, link, visit, isBack },
  }: { readonly preview: Preview; readonly visitor: Visitor; readonly admitted: Admission },
): Promise<Exclude<Entry, { kind: 'needs' }>> {
  const { records, clock } = deps;
  if (access.level === 'link') return { kind: 'open' };
  const now = clock.now();
  // Who came by a link may come back, as after a restart.
  if (link !== undefined && !isBack && !(await records.access.hasVisited(visit))) {
    if (!(await records.access.useLink(link.id, now))) return { kind: 'refused' };
  }
  const ticket = ticketFor(deps, {
    preview,
    kind: 'enter',
    access,
    level,
    viewer: visit.viewer,
    link,
    ends: endsOf(visitor.caller, link),
  });
  const { viewer } = visit;
  const isPerson = visitor.caller?.kind === 'person';
  await Promise.all([
    records.access.addVisit(visit, now, MAX_VISITORS[isPerson ? 'people' : 'anonymous']),
    records.timeline.append(preview.runId, previewVisited(preview, { viewer, isPerson, level, link }), now),
  ]);
  return { kind: 'enters', ticket };
}

export type PassDeps = Pick<AccessDeps, 'records' | 'tokens' | 'clock' | 'ids' | 'previewSettings'>;

/**
 * The pass of a program that may do what the owner may; undefined if the preview is open to
 * everyone who has its URL.
 * @param viewer its name for the app
 */
export async function createPass(
  deps: PassDeps,
  preview: Preview,
  { viewer, person }: { readonly viewer: string; readonly person?: Person | undefined },
): Promise<string | undefined> {
  const access = await accessOf(deps, preview);
  if (access.level === 'link') return undefined;
  const ends = endsOf(person, undefined);
  return ticketFor(deps, { preview, kind: 'pass', access, level: 'owner', viewer, ends });
}

function ticketFor(
  { tokens, clock, ids }: Pick<PassDeps, 'tokens' | 'clock' | 'ids'>,
  {
    preview,
    kind,
    access,
    level,
    viewer,
    link,
    ends,
  }: {
    readonly preview: Preview;
    readonly kind: TicketKind;
    readonly access: PreviewAccess;
    readonly level: AccessLevel;
    readonly viewer: string;
    readonly link?: PreviewLink | undefined;
    readonly ends: readonly number[];
  },
): string {
  const now = clock.now().getTime();
  return tokens.signTicket(kind, {
    host: new URL(preview.url ?? '').host,
    id: ids.link(),
    expiresAt: now + (kind === 'enter' ? TICKET_MS : PASS_MS),
    until: Math.min(now + VISIT_MS, ...ends),
    epoch: access.epoch,
    viewer,
    level,
    link: link?.id,
  });
}

type WayIn =
  | { readonly kind: 'passes'; readonly level: AccessLevel; readonly link?: PreviewLink }
  | Extract<Entry, { kind: 'needs' | 'refused' }>;

interface Asked {
  readonly preview: KnownPreview;
  readonly owner: Owner;
  readonly stored: PortAccess | undefined;
  readonly access: PreviewAccess;
  readonly maxAccess: AccessLevel;
  readonly visitor: Visitor;
}

/** A link decides alone: a visitor who shows an invalid one is refused. */
async function wayIn(
  deps: AdmissionDeps,
  { preview, owner, stored, access, maxAccess, visitor }: Asked,
): Promise<WayIn> {
  const { records, clock } = deps;
  const { caller, link: shown } = visitor;
  const person = caller?.kind === 'person' ? caller : undefined;
  if (person !== undefined && mayManage(person, { owner })) return { kind: 'passes', level: 'owner' };
  if (shown === undefined) {
    // Its name must not be exchanged for its URL, which is all that a visitor needs then.
    if (access.level === 'link' && visitor.knowsUrl !== true) return { kind: 'refused' };
    const hash = access.level === 'password' ? (stored?.password ?? '') : null;
    return checkWay(deps, { level: access.level, owner, hash, preview, visitor });
  }
  const link = await records.access.link(shown.id);
  const isValid =
    link?.runId === preview.runId &&
    link.targetPort === preview.targetPort &&
    isDigest(shown.secret, link.digest) &&
    (link.expiresAt === null || link.expiresAt > clock.now()) &&
    !access.revoked.includes(link.id) &&
    !isWider(link.level, maxAccess);
  if (!isValid) return { kind: 'refused' };
  const way = await checkWay(deps, { level: link.level, owner, hash: link.password, preview, visitor });
  return way.kind === 'passes' ? { ...way, link } : way;
}

async function checkWay(
  { passwords }: Pick<AdmissionDeps, 'passwords'>,
  {
    level,
    owner,
    hash,
    preview,
    visitor: { caller, password, address },
  }: {
    readonly level: AccessLevel;
    readonly owner: Owner;
    readonly hash: string | null;
    readonly preview: KnownPreview;
    readonly visitor: Visitor;
  },
): Promise<WayIn> {
  const person = caller?.kind === 'person' ? caller : undefined;
  // First, and at each level: the time of an answer must not tell whether there is a password.
  const isRight =
    password !== undefined &&
    (await passwords.check(password, hash, { preview: preview.name, person, address }));
  const reached = reachOf(level, owner, person);
  if (reached === 'sign_in') return { kind: 'needs', what: 'sign_in' };
  if (reached === 'refused') return { kind: 'refused' };
  if (hash !== null && password === undefined) return { kind: 'needs', what: 'password' };
  if (hash !== null && !isRight) return { kind: 'refused' };
  return { kind: 'passes', level };
}

/** Whether a person, or a visitor without a name, reaches a level; passwords apart. */
export function reachOf(
  level: AccessLevel,
  owner: Owner,
  person: Person | undefined,
): 'reached' | 'sign_in' | 'refused' {
  if (level === 'link' || level === 'password') return 'reached';
  if (person === undefined) return 'sign_in';
  if (level === 'signed_in' || mayManage(person, { owner })) return 'reached';
  return level === 'org' && person.org === owner.org ? 'reached' : 'refused';
}

function endsOf(caller: Caller | undefined, link: PreviewLink | undefined): number[] {
  const session = caller?.kind === 'person' ? (caller.session?.expiresAt ?? caller.expiresAt) : undefined;
  return [session, link?.expiresAt ?? undefined].flatMap((end) => (end === undefined ? [] : [end.getTime()]));
}

function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}

function isDigest(secret: string, digest: string): boolean {
  return timingSafeEqual(Buffer.from(digestOf(secret)), Buffer.from(digest));
}
