import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { consolePageRoutes, editorPageRoutes } from '#handlers/console/console-page.ts';

test('has a route of the server for each page, so that a reload does not return 404', () => {
  const file = join(import.meta.dirname, '../../console/src/pages/console-pages.tsx');
  const pages = [...readFileSync(file, 'utf8').matchAll(/\bpath: '([^']+)'/g)].map(([, path = '']) =>
    path.replace(/:(\w+)/g, '{$1}'),
  );
  const served = [...consolePageRoutes, ...editorPageRoutes].map(({ path }) => path);
  expect(pages.toSorted()).toEqual(served.toSorted());
});
