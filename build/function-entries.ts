import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Route } from '#handlers/route.ts';
import { ROUTES } from '#handlers/routes.ts';

/** The root of the project. */
export const ROOT = join(import.meta.dirname, '..');

/**
 * What a function does on its first request. `alone`: nothing. `opens`: connects to the database
 * and the cluster. `documents`: like `opens`, and describes all routes. `router`: what the route of
 * its request does.
 */
export type FunctionKind = 'alone' | 'opens' | 'documents' | 'router';

/** One function, and the module that it is bundled from. */
export interface FunctionEntry {
  readonly id: string;
  readonly kind: FunctionKind;
  /** Absent for a scheduled function. */
  readonly route?: Pick<Route, 'method' | 'path'>;
  /** When a scheduled function runs, in cron's five fields. */
  readonly schedule?: string;
  /** Whether it needs a function host that streams responses. */
  readonly streams: boolean;
  /** Whether it serves files of the console. */
  readonly isConsole: boolean;
  /** Source of a module in the root folder that exports `handler`. */
  readonly source: string;
}

/** A function for each route, and those that run on a schedule. */
export async function functionEntries(): Promise<FunctionEntry[]> {
  const places = await routePlaces();
  const routes = ROUTES.map((route): FunctionEntry => {
    const { id, method, path } = route;
    const place = places.get(route);
    if (place === undefined) throw new Error(`no module below handlers exports the route ${id}`);
    return {
      id,
      ...entryOf(route, place),
      route: { method, path },
      streams: route.streams === true,
      isConsole: route.kind === 'console',
    };
  });
  const router: FunctionEntry = {
    id: 'router',
    kind: 'router',
    source: routerSource(places),
    // Its export `stream` needs one, its `handler` does not.
    streams: false,
    isConsole: true,
  };
  return [router, ...routes, ...(Object.keys(SCHEDULED) as (keyof typeof SCHEDULED)[]).map(scheduled)];
}

/** The source of `host/host-routes.ts` in the bundled host. */
export async function lazyRoutesSource(): Promise<string> {
  const places = await routePlaces();
  const rows = ROUTES.map((route) => {
    const { id, method, path, socket, bridge, channel } = route;
    return lazyRow({ id, method, path, socket, bridge, channel }, places.get(route) as Place);
  });
  return `export const HOST_ROUTES = [\n${rows.join(',\n')}\n];`;
}

/** A route as a literal, with the module that its first request loads. */
function lazyRow(facts: object, { value, module }: Place): string {
  return `{ ...${JSON.stringify(facts)}, load: async () => (await import('${module}')).${value} }`;
}

/** All routes, each with the module that its first request loads. */
function routerSource(places: ReadonlyMap<unknown, Place>): string {
  const rows = ROUTES.map((route) => {
    const { id, method, path, socket, bridge, access, signsIn, responses } = route;
    // The events of a POST end with its work.
    const isEndless =
      socket === true ||
      (method === 'GET' &&
        Object.values(responses).some(({ contentType }) => contentType === 'text/event-stream'));
    const opens = access !== 'anyone' || signsIn === true;
    return lazyRow({ id, method, path, socket, bridge, opens, isEndless }, places.get(route) as Place);
  });
  return `import { routerFunction } from '#host/serverless/router-function.ts';
export const { handler, stream } = routerFunction([
${rows.join(',\n')}
]);`;
}

/** Name of an export, the module that has it, and the expression of the export or its element. */
interface Place {
  readonly name: string;
  readonly value: string;
  readonly module: string;
}

async function routePlaces(): Promise<Map<unknown, Place>> {
  const files = readdirSync(join(ROOT, 'handlers'), { recursive: true, encoding: 'utf8' });
  const places = new Map<unknown, Place>();
  for (const file of files.filter((each) => each.endsWith('.ts'))) {
    const module = `#handlers/${file}`;
    const exported = (await import(module)) as Record<string, unknown>;
    for (const [name, value] of Object.entries(exported)) {
      places.set(value, { name, value: name, module });
      // `routes.ts` loads all routes: no single function may import it.
      if (!Array.isArray(value) || value === ROUTES) continue;
      for (const [at, each] of value.entries()) places.set(each, { name, value: `${name}[${at}]`, module });
    }
  }
  return places;
}

function entryOf(route: Route, { name, value, module }: Place): Pick<FunctionEntry, 'kind' | 'source'> {
  const { id, method, path } = route;
  if (route.streams === true) {
    const source = `import { dataPlaneFunction } from '#host/serverless/data-plane-function.ts';
export const handler = dataPlaneFunction(${JSON.stringify({ id, method, path })});`;
    return { kind: 'alone', source };
  }
  const imports = `import { httpFunction } from '#host/serverless/http-function.ts';
import { ${name} } from '${module}';`;
  if (route.access === 'anyone' && route.signsIn !== true) {
    const source = `${imports}
import { openNothing } from '#host/serverless/open-nothing.ts';
export const handler = httpFunction(${value}, openNothing);`;
    return { kind: 'alone', source };
  }
  const kind = route.kind === 'documents' ? 'documents' : 'opens';
  const source = `${imports}
import { openFunction } from '#host/serverless/open-function.ts';
export const handler = httpFunction(${value}, openFunction);`;
  return { kind, source };
}

const SCHEDULED = {
  reaper: ['reap', '* * * * *'],
  lifecycle: ['runLifecyclePass', '* * * * *'],
  'snapshots-clean': ['cleanEditorSnapshots', '*/10 * * * *'],
  'warm-pool': ['primePool', '* * * * *'],
} as const;

function scheduled(id: keyof typeof SCHEDULED): FunctionEntry {
  const [pass, schedule] = SCHEDULED[id];
  const source = `import { ${pass} } from '#handlers/ops/scheduled.ts';
import { openFunction } from '#host/serverless/open-function.ts';
import { scheduledFunction } from '#host/serverless/scheduled-function.ts';
export const handler = scheduledFunction(openFunction, ${pass});`;
  return { id, kind: 'opens', schedule, source, streams: false, isConsole: false };
}
