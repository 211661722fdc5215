import { z } from 'zod';
import type { PageObservation, SourcePlace } from '#core/ports/page-browser.ts';
import type { PageReport } from '#core/rules/pages/page-report.ts';

const place = {
  file: z.string().nullable().describe('In the project, where source maps or traces tell'),
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

/** What `check` answers; `look` has more. */
export const CheckDto = z
  .object({
    result: z
      .enum(['works', 'broken', 'unclear'])
      .describe('`unclear`: something failed that the app may handle, or that a look does not load'),
    summary: z.string().describe('`works`, or the result with its likeliest cause and where it is'),
    causes: z.array(PageCauseDto).describe('The most likely first'),
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
          reason: z.enum([
            'status',
            'cors',
            'csp',
            'mixed_content',
            'visitor_machine',
            'other_origin',
            'refused',
            'network',
          ]),
          detail: z.string(),
          initiator: z.object(place).nullable(),
        }),
      )
      .describe('`other_origin`: a look loads the previews of the run and nothing else'),
    console: z
      .array(
        z.object({ level: z.enum(['error', 'warning', 'info', 'log', 'debug']), text: z.string(), ...place }),
      )
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
  })
  .meta({ id: 'PageCheck' });

export const LookDto = CheckDto.extend({
  outline: z
    .string()
    .nullable()
    .describe('Roles and names, as a screen reader has them; null for very large pages'),
  screenshot: z
    .object({
      media_type: z.enum(['image/png', 'image/jpeg']),
      width: z.number().int(),
      height: z.number().int(),
      data: z.string().describe('Base64, at most 1 MiB before that'),
    })
    .nullable(),
}).meta({ id: 'PageLook' });

export function toCheckDto({
  result,
  summary,
  causes,
  leftOut,
  observation: seen,
}: PageReport): z.input<typeof CheckDto> {
  return {
    result,
    summary,
    causes: causes.map(({ kind, message, place: at }) => ({ kind, message, ...placeOf(at) })),
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

export function toLookDto(report: PageReport): z.input<typeof LookDto> {
  const { outline, picture } = report.observation;
  return {
    ...toCheckDto(report),
    outline,
    screenshot: picture && {
      media_type: picture.mediaType,
      width: picture.width,
      height: picture.height,
      data: picture.base64,
    },
  };
}

function placeOf(at: SourcePlace | null) {
  return { file: at?.file ?? null, line: at?.line ?? null, column: at?.column ?? null };
}

function hotReload({ sockets }: PageObservation): 'connected' | 'refused' | 'none' {
  const own = sockets.filter((socket) => socket.hotReload);
  if (own.length === 0) return 'none';
  return own.some(({ state }) => state === 'open') ? 'connected' : 'refused';
}
