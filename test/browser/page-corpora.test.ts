import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createPageBrowser } from '#adapters/browser/chromium-pages.ts';
import { classifyPage } from '#core/pages/classify-page.ts';
import type { PageBrowser } from '#core/pages/page-browser.ts';
import type { PageResult } from '#core/pages/page-cause.ts';
import { summaryOf } from '#core/pages/page-report.ts';
import { chromiumMissing } from '#test/support/chromium.ts';
import { suite } from '#test/support/suite.ts';
import { createCorpora, FAULTY, HEALTHY } from './page-corpora/serve.ts';

/** Pages at a time, each for another owner: one owner never takes every place. */
const LANES = ['a', 'b', 'c', 'd'];
const LIMIT = 300_000;
/** Faults that a check need not name, as long as it does not say that the page works. */
const UNNAMED = 3;

suite('checks of small apps that were written apart from the classifier', chromiumMissing, () => {
  let pages: PageBrowser;
  let server: Server;
  let origin: string;

  beforeAll(async () => {
    pages = createPageBrowser({ program: undefined, failed: () => undefined, pages: LANES.length });
    server = createCorpora().listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await pages.close();
    server.closeAllConnections();
    server.close();
  });

  const check = async (path: string, owner: string): Promise<PageResult> => {
    const viewport = { width: 1_280, height: 800, scale: 1, mobile: false };
    const visit = { origin, path, siblings: [], viewport, steps: [], waitFor: undefined, picture: undefined };
    return classifyPage(await pages.observe(visit, owner));
  };

  const checkAll = async (corpus: string, names: readonly string[]): Promise<Map<string, PageResult>> => {
    const left = [...names];
    const found = new Map<string, PageResult>();
    const lane = async (owner: string): Promise<void> => {
      for (let name = left.shift(); name !== undefined; name = left.shift()) {
        found.set(name, await check(`/${corpus}/${name}/`, owner));
      }
    };
    await Promise.all(LANES.map(lane));
    return found;
  };

  test(
    'raises no false alarm for a healthy app',
    async () => {
      const found = await checkAll('healthy', Object.keys(HEALTHY));
      const alarms = [...found].filter(([, { result }]) => result !== 'works');
      expect(alarms.map(([name, result]) => [name, summaryOf(result)])).toEqual([]);
    },
    LIMIT,
  );

  test(
    'names the faults of faulty apps, and says of none that it works',
    async () => {
      const found = await checkAll('faulty', Object.keys(FAULTY));
      const named = ([name, { result, causes }]: readonly [string, PageResult]): boolean =>
        result === 'broken' &&
        FAULTY[name]?.says.test(causes.map(({ message }) => message).join(' | ')) === true;
      const unnamed = [...found].filter((each) => !named(each));
      expect(unnamed.filter(([, { result }]) => result !== 'unclear').map(([name]) => name)).toEqual([]);
      const summaries = unnamed.map(([name, result]) => `${name}: ${summaryOf(result)}`);
      expect(summaries).toHaveLength(Math.min(summaries.length, UNNAMED));
    },
    LIMIT,
  );
});
