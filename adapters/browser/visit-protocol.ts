/** How the functions call a browser server: one POST a visit, JSON both ways. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  CONSOLE_LEVELS,
  FAILURE_REASONS,
  type PageObservation,
  type PageVisit,
} from '#core/pages/page-browser.ts';
import { operationOf } from '#guest/protocol/guest-pod.ts';

export const VISITS_PATH = '/v1/visits';

/** Audience of tokens for browser servers. A guest's audience is a pod's UID, never this word. */
export const AUDIENCE = 'porthole-browsers';

/** A visit may hold a picture of 1 MiB, in base64. In bytes. */
export const LARGEST_VISIT = 2 * 1_048_576;
/** An observation holds at most four pictures. In bytes. */
export const LARGEST_OBSERVATION = 8 * 1_048_576;

/** The `Content-Digest` of a body (RFC 9530). */
export function contentDigest(body: Buffer): string {
  return `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
}

/** What a token is valid for: one body, so that a copied token opens no other page. */
export function visitClaims(digest: string): { readonly audience: string; readonly operation: string } {
  return { audience: AUDIENCE, operation: `${operationOf('POST', VISITS_PATH)} ${digest}` };
}

const text = z.string().max(262_144);
const list = <T extends z.ZodType>(each: T) => z.array(each).max(5_000);
const size = z.number().min(0).max(1_000_000);
const measured = z.number().nullable();

const Picture = z.object({
  mediaType: z.enum(['image/png', 'image/jpeg']),
  width: size,
  height: size,
  base64: z.base64().max(2_097_152),
});

/** An origin without a path: the browser reaches nothing else. */
const origin = z
  .url({ protocol: /^https?$/ })
  .max(300)
  .refine((value) => URL.parse(value)?.origin === value);
const path = z.string().startsWith('/').max(8_192);
const selector = z.string().max(8_192);

const Step = z.union([
  z.object({ action: z.literal('goto'), path }),
  z.object({ action: z.enum(['click', 'hover']), selector }),
  z.object({ action: z.enum(['fill', 'select']), selector, value: text }),
  z.object({ action: z.literal('press'), selector: selector.optional(), key: z.string().max(100) }),
  z.object({ action: z.literal('wait'), selector }),
  z.object({ action: z.literal('wait'), text: selector }),
  z.object({ action: z.literal('wait'), milliseconds: z.number().min(0).max(60_000) }),
]);

const Visit = z
  .object({
    origin,
    path,
    siblings: z.array(z.object({ origin, port: z.int().min(1).max(65_535) })).max(1_000),
    viewport: z.object({
      width: z.int().min(1).max(10_000),
      height: z.int().min(1).max(10_000),
      scale: z.number().positive().max(10),
      mobile: z.boolean(),
    }),
    steps: z.array(Step).max(100),
    waitFor: z
      .union([
        z.object({ state: z.literal('network_idle') }),
        z.object({ selector }),
        z.object({ text: selector }),
      ])
      .optional(),
    picture: z.object({ fullPage: z.boolean() }).optional(),
    previous: Picture.optional(),
    point: z.object({ x: z.number(), y: z.number() }).optional(),
  })
  // JSON leaves undefined out.
  .transform((visit) => ({ ...visit, waitFor: visit.waitFor, picture: visit.picture }));

/** Body of a request. */
export const VisitRequestSchema = z.object({
  /** For fairness between owners. */
  owner: z.string().min(1).max(1_000),
  visit: Visit satisfies z.ZodType<PageVisit>,
});

const Place = z.object({ file: text, line: z.number().nullable(), column: z.number().nullable() });
const place = Place.nullable();

/** Body of an answer. Everything in it may be the page's own text. */
export const ObservationSchema = z.object({
  status: z.number().nullable(),
  navigationError: text.nullable(),
  gateway: text.nullable(),
  redirects: list(z.object({ status: z.number(), url: text })),
  url: text,
  contentType: text.nullable(),
  console: list(z.object({ level: z.enum(CONSOLE_LEVELS), text, place })),
  errors: list(z.object({ message: text, frames: list(Place.extend({ function: text })) })),
  failed: list(
    z.object({
      method: text,
      url: text,
      type: text,
      status: z.number().nullable(),
      reason: z.enum(FAILURE_REASONS),
      detail: text,
      initiator: place,
    }),
  ),
  overlays: list(z.object({ framework: text, message: text, place })),
  sockets: list(
    z.object({
      url: text,
      state: z.enum(['connecting', 'open', 'closed', 'refused']),
      hotReload: z.boolean(),
    }),
  ),
  pending: list(text),
  facts: z
    .object({
      title: text,
      text,
      textLength: z.number(),
      media: z.number(),
      controls: z.number(),
      clippedText: z.number(),
      clippedBy: text.nullable(),
      coveredBy: text.nullable(),
      emptyMount: text.nullable(),
      loading: z.boolean(),
      elements: z.number(),
      truncated: z.boolean(),
    })
    .nullable(),
  outline: text.nullable(),
  accessibility: list(
    z.object({
      rule: text,
      impact: z.enum(['serious', 'critical']),
      help: text,
      count: z.number(),
      elements: list(text),
    }),
  ).nullable(),
  timings: z.object({ ttfbMs: measured, fcpMs: measured, lcpMs: measured, loadMs: measured }),
  interruption: z
    .enum(['memory', 'crash', 'unresponsive', 'time', 'dialogs', 'navigations', 'console_flood'])
    .nullable(),
  blocked: z.record(z.string().max(100), z.number()),
  failedStep: z.object({ step: z.number(), reason: text, nearest: list(text) }).nullable(),
  picture: Picture.nullable(),
  thumbnail: Picture.nullable(),
  difference: z
    .object({
      changedPixels: z.number(),
      changedRatio: z.number(),
      areas: list(z.object({ x: z.number(), y: z.number(), width: z.number(), height: z.number() })),
      picture: Picture.nullable(),
    })
    .nullable(),
  element: z
    .object({
      selector: text,
      role: text.nullable(),
      name: text.nullable(),
      component: text.nullable(),
      place,
      picture: Picture.nullable(),
    })
    .nullable(),
}) satisfies z.ZodType<PageObservation>;
