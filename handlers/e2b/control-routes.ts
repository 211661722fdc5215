/** E2B's control plane: sandboxes. Its clients send a key as `X-API-Key`. */
import { z } from 'zod';
import { listedOwner, ownerOf } from '#core/callers.ts';
import { later } from '#base/clock-and-ids.ts';
import { PortholeError } from '#base/errors.ts';
import { DEFAULT_IMAGE } from '#base/reads.ts';
import { changeNetwork } from '#core/network/change-network.ts';
import { ruleText } from '#core/network/network-policy.ts';
import { createSandbox, defaultNetwork } from '#core/sandboxes/create-sandbox.ts';
import { endSandbox } from '#core/sandboxes/end-sandbox.ts';
import { endTimedOut } from '#core/sandboxes/end-timed-out.ts';
import { stopSandbox } from '#core/sandboxes/resume-sandbox.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { readySandbox } from '#core/sandboxes/use-sandbox.ts';
import type { HttpEvent } from '../http/http-event.ts';
import { defineRoute, json, type Received, type Route, type RouteOptions } from '../route.ts';
import { Environment, Tags } from '../sandboxes/sandbox-schemas.ts';
import { SandboxPath } from '../sandboxes/sandbox-path.ts';
import type { Services } from '../services.ts';
import { e2bErrorShape } from './e2b-errors.ts';
import { NetworkUpdate, newNetwork, NewNetwork, toNetworkRequest } from './e2b-network.ts';
import { envdToken } from './envd-token.ts';
import { findE2bSandbox } from './find-sandbox.ts';
import { isSnapshotId, sandboxFromSnapshot } from './from-snapshot.ts';
import { INTERPRETER, interpreterImage, startInterpreter } from './interpreter-template.ts';
import { readGivenKey } from './given-key.ts';

/** The behaviour of the data plane that clients may expect. */
export const ENVD_VERSION = '0.6.4';

function fromControl(event: HttpEvent): Received {
  const { 'x-api-key': key, ...headers } = event.headers;
  if (key === undefined || headers['authorization'] !== undefined) return {};
  return { headers: { ...headers, authorization: `Bearer ${readGivenKey(key)}` } };
}

export const control = {
  tag: 'E2B',
  receives: fromControl,
  errorShape: e2bErrorShape,
} as const satisfies Partial<RouteOptions>;

const MAX_SECONDS = 604_800;
export const Seconds = z.int().min(0).max(MAX_SECONDS, `must be at most ${MAX_SECONDS}`);
/** What a client means that names no time, in seconds. */
const USUAL_SECONDS = 300;

/** Strict: a field that is not supported is refused, and never ignored. */
const NewSandboxBody = z.strictObject({
  templateID: z.string().min(1).max(512),
  timeout: Seconds.default(USUAL_SECONDS),
  metadata: Tags.default({}),
  envVars: Environment.default({}),
  autoPause: z.boolean().default(false),
  autoPauseMemory: z.boolean().optional(),
  autoResume: z.object({ enabled: z.boolean() }).optional(),
  secure: z.boolean().optional(),
  allow_internet_access: z.boolean().optional(),
  network: NewNetwork.optional(),
});

const ConnectBody = z.strictObject({ timeout: Seconds.default(USUAL_SECONDS) }).optional();
const TimeoutBody = z.strictObject({ timeout: Seconds });

export const SandboxView = z.object({
  templateID: z.string(),
  sandboxID: z.string(),
  clientID: z.literal(''),
  envdVersion: z.string(),
  envdAccessToken: z.string(),
  trafficAccessToken: z.string().describe('Of the hosts of its ports, and of its code interpreter'),
  domain: z.string().nullable().describe('Below which the ports of the sandbox have hosts'),
});

/** The template that has no image of the catalogue: the default one. */
export const BASE = 'base';

export async function toView(services: Services, sandbox: SandboxRecord) {
  return {
    templateID: sandbox.image ?? BASE,
    sandboxID: sandbox.id,
    clientID: '',
    envdVersion: ENVD_VERSION,
    envdAccessToken: await envdToken(services, sandbox),
    trafficAccessToken: services.tokens.traffic(sandbox),
    domain: domainOf(services),
  };
}

function domainOf({ plane }: Services): string | null {
  return plane.ports?.domain() ?? null;
}

/** A sandbox that never ends by itself has an end in E2B's answers all the same. */
const FAR = new Date('2999-12-31T23:59:59.000Z');

/** E2B's clients know whole CPUs. */
export function cpuCountOf(cpu: number): number {
  return Math.max(1, Math.round(cpu));
}

function toDetail(services: Services, sandbox: SandboxRecord) {
  const { cpu, memoryMb, diskMb } = { ...services.sandboxes.defaultSize, ...sandbox.resources };
  return {
    templateID: sandbox.image ?? BASE,
    sandboxID: sandbox.id,
    clientID: '',
    startedAt: sandbox.createdAt.toISOString(),
    endAt: (sandbox.timeoutAt ?? FAR).toISOString(),
    cpuCount: cpuCountOf(cpu),
    memoryMB: memoryMb,
    diskSizeMB: diskMb,
    metadata: sandbox.tags,
    state: sandbox.desired === 'running' ? 'running' : 'paused',
    envdVersion: ENVD_VERSION,
    domain: domainOf(services),
  };
}

export function afterSeconds({ clock }: Services, seconds: number): Date {
  return later(clock, seconds * 1_000);
}

function createRoute(id: string, path: string): Route {
  return defineRoute(id, 'POST', path, {
    ...control,
    summary: 'Create a sandbox',
    body: NewSandboxBody,
    responses: { 201: { description: 'The sandbox', schema: SandboxView } },
    errors: [
      'checkpoint_not_found',
      'image_not_supported',
      'quota_exceeded',
      'capacity_exceeded',
      'network_not_supported',
    ],
    async handle({ body, person, signal }, services) {
      const network = await newNetwork(services, body.network, body.allow_internet_access);
      const fields = {
        tags: body.metadata,
        env: body.envVars,
        timeoutAt: afterSeconds(services, body.timeout),
        onTimeout: body.autoPause ? ('stop' as const) : ('delete' as const),
        ...(network !== undefined && { network }),
      };
      const { templateID } = body;
      const given = templateID === BASE ? undefined : templateID;
      const isInterpreter = templateID === INTERPRETER;
      const image = isInterpreter ? await interpreterImage(services) : given;
      const sandbox = isSnapshotId(templateID)
        ? await sandboxFromSnapshot(services, person, templateID, fields, signal)
        : await createSandbox(services, { owner: ownerOf(person), image, ...fields }, undefined, signal);
      if (isInterpreter) await startInterpreter(services, person, sandbox.id);
      return json(201, await toView(services, sandbox), { 'cache-control': 'no-store' });
    },
  });
}

function connectRoute(id: string, path: string): Route {
  return defineRoute(id, 'POST', path, {
    ...control,
    summary: 'Use a sandbox again: resume it if it is paused, and set when it ends',
    params: SandboxPath,
    body: ConnectBody,
    responses: {
      200: { description: 'It runs', schema: SandboxView },
      201: { description: 'It was resumed', schema: SandboxView },
    },
    errors: ['sandbox_not_found', 'quota_exceeded', 'exec_transport_error'],
    async handle({ params, body, caller }, services) {
      const known = await findE2bSandbox(services, caller, params.id);
      const ready = await readySandbox(services, known, { inspects: true });
      const at = afterSeconds(services, body?.timeout ?? USUAL_SECONDS);
      const wasPaused = known.desired !== 'running';
      // A sandbox that runs ends later by a connection, and never sooner.
      if (wasPaused || (known.timeoutAt !== null && known.timeoutAt < at)) {
        await services.records.sandboxes.setTimeout(known, at, known.onTimeout);
      }
      return json(wasPaused ? 201 : 200, await toView(services, ready), { 'cache-control': 'no-store' });
    },
  });
}

const getRoute = defineRoute('e2bGetSandbox', 'GET', '/e2b/sandboxes/{id}', {
  ...control,
  summary: 'Read a sandbox',
  params: SandboxPath,
  responses: { 200: { description: 'The sandbox', schema: z.unknown() } },
  errors: ['sandbox_not_found'],
  async handle({ params, caller }, services) {
    return json(200, toDetail(services, await findE2bSandbox(services, caller, params.id)));
  },
});

const killRoute = defineRoute('e2bKillSandbox', 'DELETE', '/e2b/sandboxes/{id}', {
  ...control,
  summary: 'Destroy a sandbox',
  params: SandboxPath,
  responses: { 204: { description: 'Destroyed' } },
  errors: ['sandbox_not_found', 'exec_transport_error'],
  async handle({ params, caller }, services) {
    await endSandbox(services, await findE2bSandbox(services, caller, params.id), 'owner');
    return { statusCode: 204, headers: {} };
  },
});

const timeoutRoute = defineRoute('e2bSetTimeout', 'POST', '/e2b/sandboxes/{id}/timeout', {
  ...control,
  summary: 'Set when a sandbox ends, in seconds from now',
  params: SandboxPath,
  body: TimeoutBody,
  responses: { 204: { description: 'Set' } },
  errors: ['sandbox_not_found'],
  async handle({ params, body, caller }, services) {
    const sandbox = await findE2bSandbox(services, caller, params.id);
    const at = afterSeconds(services, body.timeout);
    await services.records.sandboxes.setTimeout(sandbox, at, sandbox.onTimeout);
    return { statusCode: 204, headers: {} };
  },
});

const refreshRoute = defineRoute('e2bRefreshSandbox', 'POST', '/e2b/sandboxes/{id}/refreshes', {
  ...control,
  summary: 'Let a sandbox end later: not before these seconds from now',
  params: SandboxPath,
  body: z.strictObject({ duration: Seconds.default(USUAL_SECONDS) }).optional(),
  responses: { 204: { description: 'Set' } },
  errors: ['sandbox_not_found'],
  async handle({ params, body, caller }, services) {
    const sandbox = await findE2bSandbox(services, caller, params.id);
    const at = afterSeconds(services, body?.duration ?? USUAL_SECONDS);
    if (sandbox.timeoutAt !== null && sandbox.timeoutAt < at) {
      await services.records.sandboxes.setTimeout(sandbox, at, sandbox.onTimeout);
    }
    return { statusCode: 204, headers: {} };
  },
});

const networkRoute = defineRoute('e2bSetNetwork', 'PUT', '/e2b/sandboxes/{id}/network', {
  ...control,
  summary: 'Replace the rules for connections to the outside',
  params: SandboxPath,
  body: NetworkUpdate,
  responses: { 204: { description: 'Set' } },
  errors: ['sandbox_not_found', 'network_not_supported'],
  async handle({ params, body, caller }, services) {
    const sandbox = await findE2bSandbox(services, caller, params.id);
    const { allow_internet_access: internet, ...rules } = body;
    const { mode, allow, deny, ask } = await defaultNetwork(services.network);
    const fallback = { network: mode, allow: allow.map(ruleText), deny: deny.map(ruleText), ask };
    await changeNetwork(services, sandbox, { ...fallback, ...toNetworkRequest(rules, internet) });
    return { statusCode: 204, headers: {} };
  },
});

const pauseRoute = defineRoute('e2bPauseSandbox', 'POST', '/e2b/sandboxes/{id}/pause', {
  ...control,
  summary: 'Stop a sandbox, and keep its files',
  params: SandboxPath,
  body: z.strictObject({ memory: z.boolean().optional() }).optional(),
  responses: { 204: { description: 'Paused' } },
  errors: ['sandbox_not_found', 'conflict', 'exec_transport_error'],
  async handle({ params, caller }, services) {
    const sandbox = await findE2bSandbox(services, caller, params.id);
    if (sandbox.desired !== 'running') throw new PortholeError('conflict', `Sandbox ${sandbox.id} is paused`);
    await stopSandbox(services, sandbox);
    return { statusCode: 204, headers: {} };
  },
});

const ListQuery = z.object({
  metadata: z.string().max(8_192).optional(),
  state: z.string().max(64).optional(),
  template: z.string().max(512).optional(),
  startedAfter: z.iso.datetime({ offset: true }).optional(),
  order: z.enum(['asc', 'desc']).default('desc'),
  limit: z.coerce.number().int().min(1).max(100).default(100),
  nextToken: z.string().max(512).optional(),
});

const STATES: Readonly<Record<string, 'running' | 'stopped'>> = { running: 'running', paused: 'stopped' };

function listRoute(id: string, path: string): Route {
  return defineRoute(id, 'GET', path, {
    ...control,
    summary: 'List sandboxes',
    query: ListQuery,
    responses: { 200: { description: 'The sandboxes', schema: z.array(z.unknown()) } },
    async handle({ query, person }, services) {
      const tags = Object.fromEntries(new URLSearchParams(query.metadata ?? ''));
      const states = (query.state ?? '').split(',').filter((name) => name !== '');
      const unknown = states.find((name) => !Object.hasOwn(STATES, name));
      if (unknown !== undefined) {
        throw new PortholeError(
          'invalid_request',
          `state: ${JSON.stringify(unknown)} is not running or paused`,
        );
      }
      const state = states.length === 1 ? STATES[states[0] ?? ''] : undefined;
      const filter = {
        tags,
        state,
        image: query.template === BASE ? DEFAULT_IMAGE : query.template,
        createdAfter: query.startedAfter === undefined ? undefined : new Date(query.startedAfter),
      };
      const page = { limit: query.limit, after: query.nextToken };
      const sort = query.order === 'asc' ? 'oldest' : 'newest';
      const { items, next } = await services.records.sandboxes.list(listedOwner(person), filter, page, sort);
      const live: SandboxRecord[] = [];
      for (const item of items) {
        const found = await endTimedOut(services, item);
        if (found !== undefined && (state === undefined || found.observed === state)) live.push(found);
      }
      return json(
        200,
        live.map((each) => toDetail(services, each)),
        next === null ? {} : { 'x-next-token': next },
      );
    },
  });
}

export const e2bControlRoutes: readonly Route[] = [
  createRoute('e2bCreateSandbox', '/e2b/v2/sandboxes'),
  createRoute('e2bCreateSandboxV1', '/e2b/sandboxes'),
  connectRoute('e2bConnectSandbox', '/e2b/v2/sandboxes/{id}/connect'),
  connectRoute('e2bConnectSandboxV1', '/e2b/sandboxes/{id}/connect'),
  connectRoute('e2bResumeSandbox', '/e2b/sandboxes/{id}/resume'),
  listRoute('e2bListSandboxes', '/e2b/v2/sandboxes'),
  listRoute('e2bListSandboxesV1', '/e2b/sandboxes'),
  getRoute,
  killRoute,
  timeoutRoute,
  refreshRoute,
  networkRoute,
  pauseRoute,
];
