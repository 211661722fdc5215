import type { Answer } from '../api/client.ts';

export type Level = Answer<'GET /v1/previews/{id}/access'>['level'];
export type PreviewLink = Answer<'GET /v1/previews/{id}/links'>['links'][number];
export type PreviewViewer = Answer<'GET /v1/previews/{id}/viewers'>['viewers'][number];

interface LevelLabel {
  readonly id: Level;
  readonly words: string;
  readonly who: string;
}

/** From the strictest to the widest. */
export const LEVELS = [
  { id: 'owner', words: 'Owner', who: 'Only the owner and administrators' },
  { id: 'org', words: 'Organisation', who: 'Everyone in the owner’s organisation' },
  { id: 'signed_in', words: 'Signed in', who: 'Everyone who is signed in' },
  { id: 'password', words: 'Password', who: 'Everyone who knows the password' },
  { id: 'link', words: 'Link', who: 'Anyone with the link' },
] as const satisfies readonly LevelLabel[];

/** What is not known counts as open to everyone. */
function labelOf(level: string): LevelLabel {
  return LEVELS.find(({ id }) => id === level) ?? LEVELS[4];
}

/** As a sentence without its period. */
export function audienceOf(level: string): string {
  return `${labelOf(level).who} can see the app`;
}

export interface LevelOption extends LevelLabel {
  /** Why it cannot be chosen. */
  readonly refusal: string | undefined;
}

/** Every level, and why the installation does not allow it. */
export function levelOptions(maximum: Level): readonly LevelOption[] {
  const widest = LEVELS.findIndex(({ id }) => id === maximum);
  const refusal = `Above the maximum of this installation, “${labelOf(maximum).words}”.`;
  return LEVELS.map((level, at) => ({ ...level, refusal: at > widest ? refusal : undefined }));
}

/** The levels of links that the installation allows, from the widest to the strictest. */
export function linkLevelOptions(
  maximum: Level,
): readonly { readonly id: PreviewLink['level']; readonly words: string }[] {
  const allowed = levelOptions(maximum).filter(({ refusal }) => refusal === undefined);
  return LINK_LEVELS.filter(({ id }) => allowed.some((each) => each.id === id));
}

const LINK_LEVELS = [
  { id: 'link', words: 'Anyone with the link' },
  { id: 'signed_in', words: 'Those who sign in' },
  { id: 'org', words: 'My organisation' },
] as const satisfies readonly { readonly id: PreviewLink['level']; readonly words: string }[];

/** How many visitors came by a link, and how many more may. */
export function usesLabel({ uses, max_uses: most }: Pick<PreviewLink, 'max_uses' | 'uses'>): string {
  if (most === null) return `${uses} ${uses === 1 ? 'visitor' : 'visitors'}`;
  const left = Math.max(0, most - uses);
  return `${left} of ${most} ${most === 1 ? 'visit' : 'visits'} left`;
}

/** Why a link lets in no new visitor; undefined if it does. */
export function linkEnd(
  { uses, max_uses: most, expires_at: end }: Pick<PreviewLink, 'expires_at' | 'max_uses' | 'uses'>,
  now: number,
): 'expired' | 'used up' | undefined {
  if (end !== null && Date.parse(end) <= now) return 'expired';
  return most !== null && uses >= most ? 'used up' : undefined;
}

/** By which link a viewer came; undefined: by none. */
export function viewerLink(
  { link_id: id }: Pick<PreviewViewer, 'link_id'>,
  links: readonly Pick<PreviewLink, 'id' | 'label'>[],
): string | undefined {
  if (id === null) return undefined;
  return links.find((each) => each.id === id)?.label ?? 'a revoked link';
}
