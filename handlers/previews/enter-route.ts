import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import { type Caller, mayManage } from '#core/callers.ts';
import { findAsleep, type KnownPreview } from '#core/previews/asleep-previews.ts';
import { givenNameOf, tokenOfName } from '#core/previews/named-previews.ts';
import { type Admission, admitVisitor, enterPreview, type Visitor } from '#core/previews/preview-access.ts';
import { newPortPreview, tokenOfPort } from '#core/previews/open-port.ts';
import { parsePortHost, portHost, type SandboxPort } from '#core/previews/port-host.ts';
import type { Preview } from '#core/previews/preview-plane.ts';
import { zoneNames } from '#core/previews/preview-limits.ts';
import {
  isPreviewName,
  isPreviewToken,
  parsePreviewHost,
  previewHost,
} from '#core/previews/preview-token.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { openAsleep } from '#core/previews/wake-preview.ts';
import { wakeProblem } from '#core/previews/wake-problem.ts';
import { cookieOf, sessionCookie } from '../auth/session-cookie.ts';
import { defineRoute, json } from '../route.ts';
import type { Services } from '../services.ts';

const NO_STORE = { 'cache-control': 'no-store' };

/** CSRF: a session counts only with an Origin, which `guardOrigin` has checked. */
async function visitorOf(
  { authenticator, publicUrl }: Pick<Services, 'authenticator' | 'publicUrl'>,
  headers: Readonly<Record<string, string | undefined>>,
): Promise<Caller | undefined> {
  const sealed = cookieOf(headers['cookie'], sessionCookie(publicUrl?.origin));
  const isOfPage = sealed !== undefined && headers['origin'] !== undefined;
  const person = isOfPage ? await authenticator.sessions?.authenticate(sealed) : undefined;
  return person ?? authenticator.withoutCredential;
}

const PreviewEntry = z
  .object({
    needs: z
      .enum(['sign_in', 'password', 'wake', 'wait', 'owner'])
      .optional()
      .describe(
        '`wake`: the preview is stopped, and starts once the visitor presses a button. `wait`: it starts. `owner`: only its owner can help; `reason` and `remedy` say how',
      ),
    reason: z.string().optional().describe('With `owner`: what is wrong'),
    remedy: z.string().optional().describe('With `owner`: what the owner can do'),
    url: z.string().optional().describe('Of the preview; with a ticket it needs that first'),
    ticket: z.string().optional(),
    enter_url: z.string().optional(),
  })
  .meta({ id: 'PreviewEntry' });

interface WakeRequest {
  readonly preview: KnownPreview;
  /** The preview, if it is live. */
  readonly live: Preview | undefined;
  readonly admitted: Admission;
  readonly visitor: Visitor;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly asked: 'opened' | 'pressed';
}

/**
 * Starts a stopped preview for a visitor. Returns the preview, or what the visitor needs instead.
 */
async function wakeFor(
  services: Services,
  { preview, live, admitted, visitor, headers, asked }: WakeRequest,
  signal: AbortSignal | undefined,
): Promise<{ readonly live: Preview | undefined } | z.infer<typeof PreviewEntry>> {
  const request = { method: 'POST', headers, asked };
  const opened = await openAsleep(services, { preview, live, admitted, visitor, request }, signal);
  if (opened.kind === 'enter') return { live };
  if (opened.kind === 'awake') return { live: await services.plane.find(preview.token, signal) };
  if (opened.kind === 'ask') return { needs: 'wake' };
  if (opened.kind === 'wait') return { needs: 'wait' };
  const { runId, targetPort } = preview;
  if (opened.kind === 'failed') {
    services.log.warn({ err: opened.error, run_id: runId }, 'a preview was not started for a visitor');
  }
  return { needs: 'owner', ...wakeProblem(opened, { isOwner: admitted.level === 'owner', targetPort }) };
}

interface Asked {
  readonly find: () => Promise<Preview | undefined>;
  readonly findStopped: () => Promise<KnownPreview | undefined>;
  /** The one that can be guessed, at which it was asked for. */
  readonly host?: string | undefined;
  /** The port of a sandbox that may have no preview yet. */
  readonly port?: { readonly sandbox: SandboxRecord; readonly targetPort: number } | undefined;
  readonly knowsUrl: boolean;
}

/** How the preview is found that a visitor asks for, by a token, a host, or its objects. */
async function findAsked(services: Services, id: string, signal: AbortSignal | undefined): Promise<Asked> {
  const { plane } = services;
  if (isPreviewName(id)) {
    return {
      find: () => plane.findNamed(id, signal),
      findStopped: () => findAsleep(services, { name: id }),
      knowsUrl: false,
    };
  }
  const port = services.plane.ports && parsePortHost(id, services.previewSettings.zoneSuffix);
  if (port !== undefined) return findPort(services, port, signal);
  const host = parsePreviewHost(id, ...zoneNames(services.previewSettings));
  const name = host.kind === 'named' ? host : undefined;
  const token = name === undefined ? id : await tokenOfName(services, name);
  return {
    find: async () => (token === undefined ? undefined : plane.find(token, signal)),
    findStopped: async () => (token === undefined ? undefined : findAsleep(services, { token })),
    host: name && previewHost(name.name, name.zone),
    knowsUrl: name === undefined && isPreviewToken(id),
  };
}

async function findPort(
  services: Services,
  port: SandboxPort,
  signal: AbortSignal | undefined,
): Promise<Asked> {
  const { plane, records, previewSettings } = services;
  const { sandboxId, targetPort } = port;
  const sandbox = await records.sandboxes.get(sandboxId);
  const token = sandbox && (await tokenOfPort(services, sandbox, targetPort));
  return {
    find: async () => (token === undefined ? undefined : plane.find(token, signal)),
    findStopped: async () => (token === undefined ? undefined : findAsleep(services, { token })),
    host: portHost(port, previewSettings.zoneSuffix),
    port: sandbox?.desired === 'destroyed' || sandbox === undefined ? undefined : { sandbox, targetPort },
    knowsUrl: false,
  };
}

export const enterRoute = defineRoute('enterPreview', 'POST', '/api/open', {
  tag: 'Previews',
  summary: 'Get a ticket for a preview',
  description:
    'For the page `/open`, and for the console. The ticket is valid once, for a minute: the browser posts it to `enter_url`, as the form field `ticket`.',
  access: 'anyone',
  signsIn: true,
  body: z
    .strictObject({
      preview: z
        .string()
        .max(200)
        .meta({ pattern: '^[A-Za-z0-9_.-]{1,200}$' })
        .describe('`session_id` of the preview, or what `/open` was called with'),
      link: z.string().max(64).optional(),
      secret: z.string().max(200).optional(),
      password: z.string().max(200).optional(),
      visitor: z.uuid().optional().describe('Tells visitors without a name apart'),
      wake: z
        .enum(['opened', 'pressed'])
        .optional()
        .describe(
          'The page `/open` sends `opened`, or `pressed` once its visitor has pressed the button: starts a stopped preview, if the visitor may. Absent: starts nothing',
        ),
    })
    .meta({ id: 'EnterPreviewRequest' }),
  responses: {
    200: {
      description: 'The ticket, or what the visitor has to do first',
      schema: PreviewEntry,
    },
  },
  errors: ['forbidden', 'too_many_requests'],
  async handle({ body, headers, sourceIp, signal }, services) {
    const { preview: id, link, secret, password: given, visitor: anonymous, wake } = body;
    const [caller, asked] = await Promise.all([
      visitorOf(services, headers),
      findAsked(services, id, signal),
    ]);
    const { find, findStopped, host, port, knowsUrl } = asked;
    const found = await find();
    const person = caller?.kind === 'person' ? caller : undefined;
    const visitor = {
      caller,
      link: link === undefined || secret === undefined ? undefined : { id: link, secret },
      password: given,
      address: sourceIp,
      knowsUrl,
      anonymous,
    };
    const woken = services.plane.hasUrls ? wake : undefined;
    let known = found ?? (woken === undefined ? undefined : await findStopped());
    if (
      known === undefined &&
      port !== undefined &&
      person !== undefined &&
      mayManage(person, port.sandbox)
    ) {
      // Anyone can lead the owner's browser to a port: what runs there needs the owner's approval.
      if (woken === 'opened') return json(200, { needs: 'wake' }, NO_STORE);
      if (woken === 'pressed') known = await newPortPreview(services, port.sandbox, port.targetPort);
    }
    const admitted = known && (await admitVisitor(services, { preview: known, visitor }));
    // Names can be guessed: without a link, what a visitor still needs would tell that it exists.
    const isHidden = host !== undefined && link === undefined;
    if (isHidden && known === undefined && given !== undefined) {
      await services.passwords.check(given, null, { preview: id, person, address: sourceIp });
    }
    if (admitted?.kind === 'needs' && !isHidden) return json(200, { needs: admitted.what }, NO_STORE);
    let live = found;
    if (known !== undefined && admitted?.kind === 'passes' && woken !== undefined) {
      const request = { preview: known, live, admitted, visitor, headers, asked: woken };
      const opened = await wakeFor(services, request, signal);
      if (!('live' in opened)) return json(200, opened, NO_STORE);
      ({ live } = opened);
    }
    if (live !== undefined && admitted?.kind === 'passes' && admitted.access.level !== 'link') {
      services.ticketRate.spend(live.name, person, sourceIp);
    }
    const entry =
      live && admitted?.kind === 'passes'
        ? await enterPreview(services, { preview: live, visitor, admitted })
        : undefined;
    if (entry === undefined || entry.kind === 'refused' || live?.url == null) {
      const showsNothing = caller === undefined && link === undefined && given === undefined;
      // Whatever the page was opened for: no one learns whether a preview exists.
      if (showsNothing && (isHidden || wake !== undefined)) return json(200, { needs: 'sign_in' }, NO_STORE);
      throw new PortholeError('forbidden', 'You cannot open this preview', {
        remedy: 'ask its owner for a link, or for the right password.',
      });
    }
    if (entry.kind === 'open') return json(200, { url: live.url }, NO_STORE);
    // A link leads to the name, if the preview has one, and anyone else where they came from.
    const named = host === undefined && link !== undefined ? await givenNameOf(services, live) : undefined;
    const at = host ?? (named && previewHost(named.name, named.zone));
    const url = at === undefined ? live.url : services.plane.urlOf(at);
    return json(200, { url, ticket: entry.ticket, enter_url: `${url}/.porthole/enter` }, NO_STORE);
  },
});
