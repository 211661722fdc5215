import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import { mayManage, type Person } from '#core/callers.ts';
import type { PreviewLink, PreviewVisit } from '#core/previews/access-store.ts';
import {
  accessOf,
  changeAccess,
  createLink,
  createPass,
  levelsOfRun,
  isLive,
  revokeLink,
} from '#core/previews/preview-access.ts';
import { findAsleep, type KnownPreview } from '#core/previews/asleep-previews.ts';
import { givenNameOf } from '#core/previews/named-previews.ts';
import { newPortPreview } from '#core/previews/open-port.ts';
import { parsePortHost } from '#core/previews/port-host.ts';
import { checkTargetPort } from '#core/previews/preview-limits.ts';
import type { Preview } from '#core/previews/preview-plane.ts';
import { MAX_NAME_LENGTH, previewHost } from '#core/previews/preview-token.ts';
import { ACCESS_LEVELS, type PreviewAccess } from '#protocol/preview-access.ts';
import { enterRoute } from './enter-route.ts';
import { defineRoute, ID_PATTERN, json } from '../route.ts';
import type { Services } from '../services.ts';

const NO_STORE = { 'cache-control': 'no-store' };
const PREVIEW = '/v1/previews/{id}';
const MAX_VIEWERS = 200;

const PreviewPath = z.object({
  id: z
    .string()
    .max(200)
    .meta({ pattern: ID_PATTERN })
    .describe('`session_id` of the preview, or `{port}-{sandbox}` on one machine'),
});

const Level = z
  .enum(ACCESS_LEVELS, `must be one of ${ACCESS_LEVELS.join(', ')}`)
  .describe(
    'Who may open it: `owner` (the owner of the run, and admins), `org` (also the members of their organisation), `signed_in` (everyone who is signed in), `password` (everyone who knows it), `link` (everyone who has the URL)',
  );

const password = z
  .string()
  .min(8, 'must have at least 8 characters')
  .max(200, 'must have at most 200 characters');

const AccessDto = z
  .object({
    level: Level,
    maximum: Level.describe('The widest level of this installation, or of its zone'),
    name: z.string().nullable().describe('Null: none. At the level `link` it has no effect'),
    url: z
      .string()
      .nullable()
      .describe('`https://{name}-preview.{zone}`; null without a name, and at the level `link`'),
  })
  .meta({ id: 'PreviewAccess' });

/** A preview, live or asleep, that the person may manage. Others learn nothing about it. */
async function findOwn(
  services: Services,
  person: Person,
  id: string,
  signal: AbortSignal | undefined,
): Promise<Preview | KnownPreview> {
  const ofPort = await findOwnPort(services, person, id);
  const token = ofPort?.token ?? id;
  const preview =
    (await services.plane.find(token, signal)) ?? (await findAsleep(services, { token })) ?? ofPort;
  const run = preview && (await services.records.runs.get(preview.runId));
  if (preview !== undefined && run !== undefined && mayManage(person, run)) return preview;
  throw noSuchPreview();
}

/** The preview of a port of a sandbox, also before it is first opened. */
async function findOwnPort(
  services: Services,
  person: Person,
  id: string,
): Promise<KnownPreview | undefined> {
  const { plane, records, previewSettings } = services;
  const port =
    plane.ports && parsePortHost(`${id}.${previewSettings.zoneSuffix}`, previewSettings.zoneSuffix);
  if (port === undefined) return undefined;
  checkTargetPort(port.targetPort, previewSettings);
  const sandbox = await records.sandboxes.get(port.sandboxId);
  if (sandbox === undefined || sandbox.desired === 'destroyed' || !mayManage(person, sandbox))
    return undefined;
  return newPortPreview(services, sandbox, port.targetPort);
}

function noSuchPreview(): PortholeError {
  return new PortholeError('preview_not_found', 'You have no such preview', {
    remedy: 'GET /api/runs/{id}/sandbox/port-forward lists those of a run.',
  });
}

async function toAccessDto(
  { level }: PreviewAccess,
  preview: KnownPreview,
  services: Pick<Services, 'plane' | 'previewSettings' | 'records'>,
): Promise<z.infer<typeof AccessDto>> {
  const [{ maxAccess }, given] = await Promise.all([
    levelsOfRun(services, preview.runId),
    givenNameOf(services, preview),
  ]);
  const url =
    given === undefined || level === 'link'
      ? null
      : services.plane.urlOf(previewHost(given.name, given.zone));
  return { level, maximum: maxAccess, name: given?.name ?? null, url };
}

const getAccessRoute = defineRoute('getPreviewAccess', 'GET', `${PREVIEW}/access`, {
  tag: 'Previews',
  summary: 'Who may open a preview',
  params: PreviewPath,
  responses: { 200: { description: 'Its level', schema: AccessDto } },
  errors: ['preview_not_found'],
  async handle({ params, person, signal }, services) {
    const preview = await findOwn(services, person, params.id, signal);
    return json(200, await toAccessDto(await accessOf(services, preview), preview, services));
  },
});

const setAccessRoute = defineRoute('setPreviewAccess', 'PUT', `${PREVIEW}/access`, {
  tag: 'Previews',
  summary: 'Choose who may open a preview',
  description:
    'Also for later previews of the same port of the run. All visits end, open connections included, unless the level is `link`. A level above the maximum answers 400 with `maximum`. With a `name` the preview also answers at `https://{name}-preview.{zone}`, while its level is stricter than `link`. A name is unique in its zone (409), and stays with the port until its sandbox is deleted or the name is given back.',
  params: PreviewPath,
  body: z
    .strictObject({
      level: Level,
      password: password.optional().describe('For the level `password`'),
      name: z
        .string()
        .max(MAX_NAME_LENGTH, `must have at most ${MAX_NAME_LENGTH} characters`)
        .nullable()
        .optional()
        .describe('A DNS label of 3 to 26 characters; null gives it back. Absent: as it is'),
    })
    .meta({ id: 'SetPreviewAccessRequest', example: { level: 'org' } }),
  responses: { 200: { description: 'Its level', schema: AccessDto } },
  errors: ['preview_not_found', 'preview_not_enabled', 'conflict', 'quota_exceeded'],
  async handle({ params, body, person, signal }, services) {
    const preview = await findOwn(services, person, params.id, signal);
    const access = await changeAccess(services, { preview, ...body }, signal);
    return json(200, await toAccessDto(access, preview, services));
  },
});

const LINK_LEVELS = ['org', 'signed_in', 'link'] as const;

export const LinkDto = z
  .object({
    id: z.string(),
    label: z.string(),
    level: z.enum(LINK_LEVELS).describe('Who may use it; `link`: everyone who has it'),
    has_password: z.boolean(),
    may_wake: z.boolean().describe('Whether those who come by it may start the preview while it is stopped'),
    uses: z.number().int().describe('How many visitors came by it'),
    max_uses: z.number().int().nullable().describe('Null: any number'),
    created_by: z.string(),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime().nullable().describe('Null: with the preview'),
    last_used_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'PreviewLink' });

export function toLinkDto(link: PreviewLink): z.infer<typeof LinkDto> {
  return {
    id: link.id,
    label: link.label,
    level: link.level,
    has_password: link.password !== null,
    may_wake: link.mayWake,
    uses: link.uses,
    max_uses: link.maxUses,
    created_by: link.createdBy,
    created_at: link.createdAt.toISOString(),
    expires_at: link.expiresAt?.toISOString() ?? null,
    last_used_at: link.lastUsedAt?.toISOString() ?? null,
  };
}

/** The fields of a new link. */
export const LinkFields = {
  label: z.string().trim().min(1, 'must not be empty').max(100).describe('Whom it is for'),
  level: z
    .enum(LINK_LEVELS, `must be one of ${LINK_LEVELS.join(', ')}`)
    .default('link')
    .describe('Who may use it; `link`: everyone who has it'),
  expires_in: z.int().min(60).max(31_536_000).optional().describe('Seconds from now'),
  max_uses: z.int().min(1).max(1_000_000).optional().describe('How many visitors may use it'),
  may_wake: z.boolean().default(false).describe('They may start the stopped preview'),
};

/** A new link with its URL. Browsers send the secret after `#` to no server. */
export const CreatedLinkDto = LinkDto.extend({ url: z.string() });

export function toCreatedLinkDto(
  { publicUrl }: Pick<Services, 'publicUrl'>,
  {
    preview,
    link,
    secret,
  }: { readonly preview: KnownPreview; readonly link: PreviewLink; readonly secret: string },
  host: string | undefined,
): z.infer<typeof CreatedLinkDto> {
  // Without a public URL: one machine, and the caller has reached its API at this host.
  const origin = publicUrl?.origin ?? `http://${host ?? ''}`;
  return { ...toLinkDto(link), url: `${origin}/open?preview=${preview.name}#${link.id}.${secret}` };
}

const createLinkRoute = defineRoute('createPreviewLink', 'POST', `${PREVIEW}/links`, {
  tag: 'Previews',
  summary: 'Create a link to a preview',
  description:
    'Returns a URL with a secret after `#`, which browsers send to no server. It is shown only here.',
  params: PreviewPath,
  body: z
    .strictObject({
      ...LinkFields,
      password: password.optional().describe('Visitors are asked for it'),
    })
    .meta({ id: 'CreatePreviewLinkRequest', example: { label: 'for carol' } }),
  responses: { 201: { description: 'The link', schema: CreatedLinkDto } },
  errors: ['preview_not_found', 'quota_exceeded'],
  async handle({ params, body, person, signal, headers }, services) {
    const preview = await findOwn(services, person, params.id, signal);
    const { expires_in: seconds, max_uses: maxUses, may_wake: mayWake, ...rest } = body;
    const expiresAt =
      seconds === undefined ? undefined : new Date(services.clock.now().getTime() + seconds * 1_000);
    const { link, secret } = await createLink(services, {
      ...rest,
      preview,
      by: person.user,
      mayWake,
      maxUses,
      expiresAt,
    });
    return json(201, toCreatedLinkDto(services, { preview, link, secret }, headers['host']), NO_STORE);
  },
});

const listLinksRoute = defineRoute('listPreviewLinks', 'GET', `${PREVIEW}/links`, {
  tag: 'Previews',
  summary: 'List the links of a preview',
  params: PreviewPath,
  responses: {
    200: {
      description: 'Oldest first',
      schema: z.object({ links: z.array(LinkDto) }).meta({ id: 'PreviewLinks' }),
    },
  },
  errors: ['preview_not_found'],
  async handle({ params, person, signal }, services) {
    const { runId, targetPort } = await findOwn(services, person, params.id, signal);
    const links = await services.records.access.links(runId, targetPort);
    return json(200, { links: links.map(toLinkDto) });
  },
});

const revokeLinkRoute = defineRoute('revokePreviewLink', 'DELETE', `${PREVIEW}/links/{linkId}`, {
  tag: 'Previews',
  summary: 'Revoke a link',
  description: 'Those who came by it lose the preview at once, open connections included.',
  params: PreviewPath.extend({ linkId: z.string().max(64).meta({ pattern: ID_PATTERN }) }),
  responses: { 204: { description: 'Revoked' } },
  errors: ['preview_not_found', 'not_found'],
  async handle({ params, person, signal }, services) {
    const preview = await findOwn(services, person, params.id, signal);
    await revokeLink(services, { preview, linkId: params.linkId }, signal);
    return { statusCode: 204, headers: {} };
  },
});

const ViewerDto = z
  .object({
    viewer: z.string().describe('A user, or a pseudonym that differs for each preview'),
    link_id: z.string().nullable(),
    first_at: z.iso.datetime(),
    last_at: z.iso.datetime(),
  })
  .meta({ id: 'PreviewViewer' });

const toViewerDto = ({ viewer, linkId, firstAt, lastAt }: PreviewVisit): z.infer<typeof ViewerDto> => ({
  viewer,
  link_id: linkId === '' ? null : linkId,
  first_at: firstAt.toISOString(),
  last_at: lastAt.toISOString(),
});

const listPreviewViewersRoute = defineRoute('listPreviewViewers', 'GET', `${PREVIEW}/viewers`, {
  tag: 'Previews',
  summary: 'Who opened a preview',
  description: 'Not at the level `link`, which needs no visit.',
  params: PreviewPath,
  responses: {
    200: {
      description: 'The last first, 200 at most',
      schema: z.object({ viewers: z.array(ViewerDto) }).meta({ id: 'PreviewViewers' }),
    },
  },
  errors: ['preview_not_found'],
  async handle({ params, person, signal }, services) {
    const { runId, targetPort } = await findOwn(services, person, params.id, signal);
    const visits = await services.records.access.visits(runId, targetPort, MAX_VIEWERS);
    return json(200, { viewers: visits.map(toViewerDto) });
  },
});

const passRoute = defineRoute('createPreviewPass', 'POST', `${PREVIEW}/pass`, {
  tag: 'Previews',
  summary: 'Get a pass for a program',
  description:
    'A program sends it in the header `X-Porthole-Pass` of its requests to the preview, for ten minutes.',
  params: PreviewPath,
  responses: {
    200: {
      description: 'The pass',
      schema: z
        .object({ pass: z.string().nullable().describe('Null: everyone who has the URL may open it') })
        .meta({ id: 'PreviewPass' }),
    },
  },
  errors: ['preview_not_found'],
  async handle({ params, person, signal }, services) {
    const preview = await findOwn(services, person, params.id, signal);
    if (!isLive(preview)) throw noSuchPreview();
    const pass = await createPass(services, preview, { viewer: person.user, person });
    return json(200, { pass: pass ?? null }, NO_STORE);
  },
});

export const accessRoutes = [
  getAccessRoute,
  setAccessRoute,
  createLinkRoute,
  listLinksRoute,
  revokeLinkRoute,
  listPreviewViewersRoute,
  passRoute,
  enterRoute,
];
