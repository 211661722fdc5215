import { z } from 'zod';
import type { PageStep, PageVisit, Viewport } from '#core/ports/page-browser.ts';

const PATH_MESSAGE = 'must be a path on the preview, from its first / on, e.g. /login';
/** No scheme and no host: `//host` and `/\host` would leave the preview. */
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
    z.strictObject({ action: z.literal('goto'), path: pagePath }),
    z.strictObject({ action: z.enum(['click', 'hover']), selector }),
    z.strictObject({ action: z.enum(['fill', 'select']), selector, value }),
    z.strictObject({
      action: z.literal('press'),
      key: z.string().min(1).max(40).describe('`Enter`, `Control+A`'),
      selector: selector.optional(),
    }),
    z.strictObject({
      action: z.literal('wait'),
      selector: selector.optional(),
      text: words.optional(),
      milliseconds: z.number().int().min(0).max(5_000).optional(),
    }),
  ])
  .meta({ type: 'object' });

const DEVICES = {
  desktop: { width: 1_280, height: 800, scale: 1, mobile: false },
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

export const CheckBody = z.strictObject(visitFields).meta({ id: 'CheckPageRequest' });
export const LookBody = z
  .strictObject({ ...visitFields, full_page: z.boolean().default(false).describe('A picture of all of it') })
  .meta({ id: 'LookAtPageRequest' });

/** @throws TypeError never: the schema has read it */
export function toVisit(
  body: z.output<typeof CheckBody> & { readonly full_page?: boolean },
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
