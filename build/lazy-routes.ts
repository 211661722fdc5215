import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'rolldown';
import { FEATURES, ROUTES } from '#handlers/features.ts';
import { routeRow } from '#host/server/router.ts';
import { ROOT } from './root.ts';

/** The first request of a route loads its module, with its schemas. */
export const lazyRoutesPlugin: Plugin = {
  name: 'lazy-routes',
  load: (id) => (id === join(ROOT, 'host/server/host-routes.ts') ? lazyRoutesSource() : null),
};

/** The source of `host/server/host-routes.ts` in bundles. */
async function lazyRoutesSource(): Promise<string> {
  const expressions = await exportedValues();
  const rows = Object.entries(FEATURES).flatMap(([feature, { routes }]) =>
    routes.map((route) => {
      const expression = expressions.get(route);
      if (expression === undefined) throw new Error(`no module below handlers exports the route ${route.id}`);
      return `{ ...${JSON.stringify({ ...routeRow(route), feature })}, load: async () => ${expression} }`;
    }),
  );
  return `export const HOST_ROUTES = [\n${rows.join(',\n')}\n];`;
}

/** Exported values, and elements of exported arrays, with the expression that imports each. */
async function exportedValues(): Promise<Map<unknown, string>> {
  const files = readdirSync(join(ROOT, 'handlers'), { recursive: true, encoding: 'utf8' });
  const expressions = new Map<unknown, string>();
  for (const file of files.filter((each) => each.endsWith('.ts'))) {
    const module = `#handlers/${file}`;
    for (const [name, value] of Object.entries((await import(module)) as Record<string, unknown>)) {
      const expression = `(await import('${module}')).${name}`;
      expressions.set(value, expression);
      // Skips the list of all routes, which would load all of them.
      if (!Array.isArray(value) || value === ROUTES) continue;
      for (const [at, each] of value.entries()) expressions.set(each, `${expression}[${at}]`);
    }
  }
  return expressions;
}
