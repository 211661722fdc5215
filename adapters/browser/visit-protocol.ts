/** How the functions call a browser server: one POST a visit, JSON both ways. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { pageObservation, pageVisit } from '#core/pages/visit-schemas.ts';
import { operationOf } from '#protocol/guest/guest-pod.ts';

export const VISITS_PATH = '/v1/visits';

/** Audience of tokens for browser servers. A guest's audience is a pod's UID, never this word. */
export const AUDIENCE = 'porthole-browsers';

/** A visit may hold a picture of 1 MiB, in base64. In bytes. */
export const MAX_VISIT_BYTES = 2 * 1_048_576;
/** An observation holds at most four pictures. In bytes. */
export const MAX_OBSERVATION_BYTES = 8 * 1_048_576;

/** The `Content-Digest` of a body (RFC 9530). */
export function contentDigest(body: Buffer): string {
  return `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
}

/** Claims of a visit token. It is bound to one body, so that a copied token opens no other page. */
export function visitClaims(digest: string): { readonly audience: string; readonly operation: string } {
  return { audience: AUDIENCE, operation: `${operationOf('POST', VISITS_PATH)} ${digest}` };
}

/** Body of a request. */
export const VisitRequestSchema = z.object({
  /** For fairness between owners. */
  owner: z.string().min(1).max(1_000),
  visit: pageVisit,
});

/** Body of an answer. */
export const ObservationSchema = pageObservation;
