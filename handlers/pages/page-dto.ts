/** The schemas of looks and checks, and the mapping to them. Other features use them as well. */
import { z } from 'zod';
import { DESKTOP } from '#core/pages/check-preview.ts';
import { isSame, type LinesDifference, type LookDifference } from '#core/pages/compare-looks.ts';
import type { PageResult } from '#core/pages/page-cause.ts';
import {
  CONSOLE_LEVELS,
  FAILURE_OUTCOMES,
  FAILURE_REASONS,
  type PageObservation,
  type PageStep,
  type PageVisit,
  type Picture,
  type SourcePlace,
  type Viewport,
} from '#core/pages/page-browser.ts';
import { type PageReport, summaryOf } from '#core/pages/page-report.ts';

const PATH_MESSAGE = 'must be a path on the preview, from its first / on, e.g. /login';
/** Rejects schemes and hosts: `//host` and `/\host` would leave the preview. */
export const pagePath = z
  .string()
  .max(2_000)
  .regex(/^\/(?![/\\])[^\s\\]*$/, PATH_MESSAGE)
  .meta({ example: '/login' });

const selector = z
  .string()
  .min(1)
  .max(500)
  .describe('CSS, `text=Sign in`, or `role=button[name="Sign in"]`')
  .meta({ example: 'text=Sign in' });
const words = z.string().min(1).max(500);
const value = z.string().max(5_000);

const Step = z
  .discriminatedUnion('action', [
    z.strictObject({ action: z.enum(['goto']), path: pagePath }),
    z.strictObject({ action: z.enum(['click', 'hover']), selector }),
    z.strictObject({ action: z.enum(['fill', 'select']), selector, value }),
    z.strictObject({
      action: z.enum(['press']),
      key: z.string().min(1).max(40).describe('`Enter`, `Control+A`'),
      selector: selector.optional(),
    }),
    z.strictObject({
      action: z.enum(['wait']),
      selector: selector.optional(),
      text: words.optional(),
      milliseconds: z.number().int().min(0).max(5_000).optional(),
    }),
  ])
  .meta({ type: 'object' });

const DEVICES = {
  desktop: DESKTOP,
  tablet: { width: 820, height: 1_180, scale: 1, mobile: true },
  phone: { width: 390, height: 844, scale: 2, mobile: true },
} as const satisfies Record<string, Viewport>;

/** Fields that `look` and `check` share. */
export const visitFields = {
  path: pagePath.default('/').describe('Path and query on the preview'),
  device: z.enum(['desktop', 'tablet', 'phone']).default('desktop'),
  viewport: z
    .strictObject({
      width: z.number().int().min(200).max(2_560),
      height: z.number().int().min(200).max(2_560),
    })
    .optional()
    .describe('Instead of the size of the device'),
  wait_for: z
    .union([z.enum(['load', 'network_idle']), z.strictObject({ selector }), z.strictObject({ text: words })])
    .default('load')
    .describe('`load` waits for a short time without requests, too'),
  steps: z.array(Step).max(20).default([]).describe('What to do on the page first, in this order'),
};

export const waitForChange = z
  .number()
  .int()
  .min(1)
  .max(240)
  .optional()
  .describe('Seconds to wait at most, until a file or a server of the run has changed');
export const CheckBody = z
  .strictObject({ ...visitFields, wait_for_change: waitForChange })
  .meta({ id: 'CheckPageRequest' });
export const LookBody = z
  .strictObject({ ...visitFields, full_page: z.boolean().default(false).describe('A picture of all of it') })
  .meta({ id: 'LookAtPageRequest' });

/** Never throws TypeError: the schema has validated the input. */
export function toVisit(
  body: z.output<z.ZodObject<typeof visitFields>>,
): Omit<PageVisit, 'origin' | 'siblings' | 'picture'> {
  const { path, device, viewport, wait_for: waitFor, steps } = body;
  return {
    path,
    viewport: { ...DEVICES[device], ...viewport },
    waitFor: waitFor === 'load' ? undefined : waitFor === 'network_idle' ? { state: waitFor } : waitFor,
    steps: steps.map(toStep),
  };
}

function toStep(step: z.output<typeof Step>): PageStep {
  if (step.action !== 'wait') return step;
  const { selector: wanted, text, milliseconds } = step;
  if (wanted !== undefined) return { action: 'wait', selector: wanted };
  return text === undefined
    ? { action: 'wait', milliseconds: milliseconds ?? 500 }
    : { action: 'wait', text };
}

const place = {
  file: z.string().nullable().describe('In the project, if known from source maps or traces'),
  line: z.number().int().nullable(),
  column: z.number().int().nullable(),
};

const PageCauseDto = z
  .object({
    kind: z.string().describe('`error_overlay`, `uncaught_error`, `script_failed`, `cors`, `blank` …'),
    message: z.string().describe('One sentence'),
    ...place,
  })
  .meta({ id: 'PageCause' });

/** What `check` and `look` both say. */
const SeenDto = z.object({
  result: z
    .enum(['works', 'broken', 'unclear'])
    .describe('`unclear`: something failed that the app may handle, or that a look does not load'),
  summary: z.string().describe('`works`, or the result with its likeliest cause and where it is'),
  causes: z.array(PageCauseDto).describe('The most likely first'),
  notes: z.array(z.string()).describe('What failed without harm'),
  status: z.number().int().nullable().describe('Of the document; null where none came'),
  url: z.string().describe('Path that is shown in the end'),
  title: z.string().nullable(),
  text: z.string().nullable().describe('The beginning of what can be read on the page'),
  redirects: z.array(z.object({ status: z.number().int(), url: z.string() })),
  errors: z
    .array(z.object({ message: z.string(), frames: z.array(z.object({ function: z.string(), ...place })) }))
    .describe('Uncaught errors and unhandled rejections, with frames in the source'),
  failed_requests: z
    .array(
      z.object({
        method: z.string(),
        url: z.string(),
        type: z.string(),
        status: z.number().int().nullable(),
        reason: z.enum(FAILURE_REASONS),
        detail: z.string(),
        initiator: z.object(place).nullable(),
        outcome: z.enum(FAILURE_OUTCOMES).describe('`missing`, or why the page goes on without it'),
      }),
    )
    .describe('`other_origin`: a look loads the previews of the run and nothing else'),
  console: z
    .array(z.object({ level: z.enum(CONSOLE_LEVELS), text: z.string(), ...place }))
    .describe('The worst first'),
  overlays: z.array(z.object({ framework: z.string(), message: z.string(), ...place })),
  hot_reload: z.enum(['connected', 'refused', 'none']).describe('The WebSocket of the dev server'),
  still_loading: z.array(z.string()),
  blocked: z.record(z.string(), z.number().int()).describe('`dialog`, `popup`, `download`: how often'),
  failed_step: z
    .object({ step: z.number().int(), reason: z.string(), nearest: z.array(z.string()) })
    .nullable()
    .describe('The step that failed (1, 2, 3 …; 0: `wait_for`), and elements by role and name'),
  timings: z.object({
    ttfb_ms: z.number().nullable(),
    fcp_ms: z.number().nullable(),
    lcp_ms: z.number().nullable(),
    load_ms: z.number().nullable(),
  }),
  left_out: z.record(z.string(), z.number().int()).describe('Entries of lists that are not shown'),
});

export const CheckDto = SeenDto.extend({
  changed: z
    .boolean()
    .nullable()
    .describe('Whether something changed in the time of `wait_for_change`; null without it'),
}).meta({ id: 'PageCheck' });

/** An element of a page, as a comment and the search of an element describe it. */
export const elementFields = {
  selector: z.string().min(1).max(500).describe('CSS, of this element alone when it was found'),
  role: z.string().max(200).nullable().default(null).describe('ARIA role'),
  name: z.string().max(200).nullable().default(null).describe('Accessible name'),
  component: z.string().max(200).nullable().default(null).describe('Of React, Vue, Svelte or Angular'),
  file: z.string().max(300).nullable().default(null).describe('In the project, if known'),
  line: z.int().positive().nullable().default(null),
  column: z.int().positive().nullable().default(null),
};

/** A check of the page at `/`, as part of another response. */
export const PageResultDto = CheckDto.pick({ result: true, summary: true, causes: true }).meta({
  id: 'PageResult',
});

export const PictureDto = z
  .object({
    media_type: z.enum(['image/png', 'image/jpeg']),
    width: z.number().int(),
    height: z.number().int(),
    data: z.string().describe('Base64, at most 1 MiB before that'),
  })
  .meta({ id: 'Picture' });

export function toPictureDto({ mediaType, width, height, base64 }: Picture): z.output<typeof PictureDto> {
  return { media_type: mediaType, width, height, data: base64 };
}

const LinesDto = z.object({ appeared: z.array(z.string()), gone: z.array(z.string()) });
const DifferenceDto = z
  .object({
    since: z.iso.datetime().describe('Of the last look'),
    is_same: z
      .boolean()
      .nullable()
      .describe(
        'Nothing that a look sees has changed; null where no change was found in what could be compared',
      ),
    pixels: z
      .object({
        changed: z.number().int(),
        ratio: z.number().describe('Of all pixels'),
        areas: z
          .array(
            z.object({
              x: z.number().int(),
              y: z.number().int(),
              width: z.number().int(),
              height: z.number().int(),
            }),
          )
          .describe('The largest first'),
        picture: PictureDto.nullable().describe('The page faded, with the changes in red'),
      })
      .nullable()
      .describe(
        'Null where the pictures cannot be compared: one is missing, or has more than 1 MiB and is a JPEG',
      ),
    outline: LinesDto.nullable().describe('Null where one of the looks has no outline'),
    console: LinesDto,
  })
  .meta({ id: 'LookDifference' });

function toDifferenceDto(difference: LookDifference): z.output<typeof DifferenceDto> {
  const { since, pixels, outline, console } = difference;
  const lines = ({ appeared, gone }: LinesDifference) => ({ appeared: [...appeared], gone: [...gone] });
  return {
    since: since.toISOString(),
    is_same: isSame(difference),
    pixels: pixels && {
      changed: pixels.changedPixels,
      ratio: pixels.changedRatio,
      areas: [...pixels.areas],
      picture: pixels.picture && toPictureDto(pixels.picture),
    },
    outline: outline && lines(outline),
    console: lines(console),
  };
}

export const LookDto = SeenDto.extend({
  outline: z
    .string()
    .nullable()
    .describe('Roles and names, as a screen reader has them; null for very large pages'),
  accessibility: z
    .array(
      z.object({
        rule: z.string().describe('Of axe-core, e.g. `image-alt`'),
        impact: z.enum(['serious', 'critical']),
        help: z.string(),
        count: z.number().int().describe('Elements that violate it'),
        elements: z.array(z.string()).describe('Selectors of the first ones'),
      }),
    )
    .nullable()
    .describe('What keeps people with disabilities from using the page; null for very large pages'),
  screenshot: PictureDto.nullable(),
  difference: DifferenceDto.nullable().describe(
    'To the last look of 24 hours at the same page in the same way; null for the first',
  ),
}).meta({ id: 'PageLook' });

export function toCheckDto(report: PageReport, changed: boolean | null): z.input<typeof CheckDto> {
  return { ...toSeenDto(report), changed };
}

function toSeenDto({
  result,
  summary,
  causes,
  notes,
  leftOut,
  observation: seen,
}: PageReport): z.input<typeof SeenDto> {
  return {
    result,
    summary,
    causes: toCausesDto(causes),
    notes: [...(notes ?? [])],
    status: seen.status,
    url: seen.url,
    title: seen.facts?.title ?? null,
    text: seen.facts?.text ?? null,
    redirects: [...seen.redirects],
    errors: seen.errors.map(({ message, frames }) => ({ message, frames: [...frames] })),
    failed_requests: [...seen.failed],
    console: seen.console.map(({ level, text, place: at }) => ({ level, text, ...placeOf(at) })),
    overlays: seen.overlays.map(({ framework, message, place: at }) => ({
      framework,
      message,
      ...placeOf(at),
    })),
    hot_reload: hotReload(seen),
    still_loading: [...seen.pending],
    blocked: { ...seen.blocked },
    failed_step: seen.failedStep && { ...seen.failedStep, nearest: [...seen.failedStep.nearest] },
    timings: {
      ttfb_ms: seen.timings.ttfbMs,
      fcp_ms: seen.timings.fcpMs,
      lcp_ms: seen.timings.lcpMs,
      load_ms: seen.timings.loadMs,
    },
    left_out: { ...leftOut },
  };
}

export function toPageResultDto(page: PageResult): z.output<typeof PageResultDto> {
  return { result: page.result, summary: summaryOf(page), causes: toCausesDto(page.causes) };
}

export function toLookDto(report: PageReport): z.input<typeof LookDto> {
  const { outline, accessibility, picture } = report.observation;
  return {
    ...toSeenDto(report),
    outline,
    accessibility: accessibility && accessibility.map((each) => ({ ...each, elements: [...each.elements] })),
    screenshot: picture && toPictureDto(picture),
    difference: report.difference && toDifferenceDto(report.difference),
  };
}

function toCausesDto(causes: PageResult['causes']): z.output<typeof PageCauseDto>[] {
  return causes.map(({ kind, message, place: at }) => ({ kind, message, ...placeOf(at) }));
}

function placeOf(at: SourcePlace | null) {
  return { file: at?.file ?? null, line: at?.line ?? null, column: at?.column ?? null };
}

function hotReload({ sockets }: PageObservation): 'connected' | 'refused' | 'none' {
  const own = sockets.filter((socket) => socket.hotReload);
  if (own.length === 0) return 'none';
  return own.some(({ state }) => state === 'open') ? 'connected' : 'refused';
}
