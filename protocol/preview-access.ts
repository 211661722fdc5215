import { z } from 'zod';

/** Who may open a preview, from the strictest level to the widest. */
export const ACCESS_LEVELS = ['owner', 'org', 'signed_in', 'password', 'link'] as const;

/**
 * - `owner`: the owner of its run, admins, and people with whom the run is shared.
 * - `org`: also everyone who is signed in and belongs to the owner's organisation.
 * - `signed_in`: everyone who is signed in.
 * - `password`: everyone who knows its password.
 * - `link`: everyone who has its URL.
 */
export type AccessLevel = (typeof ACCESS_LEVELS)[number];

/** Whether `level` lets in more people than `maximum`. */
export function isWider(level: AccessLevel, maximum: AccessLevel): boolean {
  return ACCESS_LEVELS.indexOf(level) > ACCESS_LEVELS.indexOf(maximum);
}

/** Revoked links that a preview remembers; with one more, all its visitors enter anew. */
export const MAX_REVOKED_LINKS = 64;

/** What decides, where a preview is served, whether a visitor may pass. */
export const PreviewAccessSchema = z.strictObject({
  level: z.enum(ACCESS_LEVELS),
  /** Visits of an earlier epoch have ended. */
  epoch: z.number().int().min(0),
  /** Ids of links that were revoked: their visits have ended. */
  revoked: z.array(z.string().max(64)).max(MAX_REVOKED_LINKS).readonly(),
  /**
   * It is also served at `{name}-preview.{zone}`: never at the level `link`.
   * @default - only at its own host
   */
  name: z.string().max(63).optional(),
});

export type PreviewAccess = Readonly<z.infer<typeof PreviewAccessSchema>>;

/** The access of a preview without a limit. */
export const OPEN_ACCESS: PreviewAccess = { level: 'link', epoch: 0, revoked: [] };
