import { expect, test } from '@jest/globals';
import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { GROUPS_PATTERN } from '#handlers/usage/usage-routes.ts';
import { PREVIEW_TOKEN_PATTERN } from '#protocol/preview-words.ts';
import { findPatterns, type FoundPattern } from './patterns/find-patterns.ts';

/** Whatever meets text of a sandbox, a page, a client or a server. */
const FOLDERS = [
  'adapters',
  'agent',
  'base',
  'client',
  'console',
  'core',
  'guest',
  'handlers',
  'host',
  'protocol',
  'proxy',
];

/** Files with a pattern that is no text: what they make of ordinary settings. */
const COMPUTED: Readonly<Record<string, readonly string[]>> = {
  'core/auth/redact-secrets.ts': [PREVIEW_TOKEN_PATTERN],
  'core/pages/recheck-pages.ts': [
    String.raw`(?:^|\/)(?:\.[^/]+|node_modules|logs|venv)\/|\.(?:log|sqlite3?(?:-\w+)?|db(?:-\w+)?)$|~$`,
  ],
  // The pattern is the user's own, and so is the processor time: the guest matches it.
  'guest/files/search-files.ts': [],
  'handlers/usage/usage-routes.ts': [GROUPS_PATTERN],
};

/** Longest that one pattern may take altogether: an exponential one takes for ever. */
const MAX_PATTERN_MS = { ordinary: 20_000, exponential: 4_000 } as const;

/** What is wrong with each pattern; undefined for those that take linear time. */
async function slowTexts(
  patterns: readonly FoundPattern[],
  mostMs: number = MAX_PATTERN_MS.ordinary,
): Promise<readonly (string | undefined)[]> {
  const worker = new Worker(join(import.meta.dirname, 'patterns/match-worker.ts'), { workerData: patterns });
  const found: (string | undefined)[] = [];
  try {
    while (found.length < patterns.length) {
      const signal = AbortSignal.timeout(mostMs);
      const answer = await once(worker, 'message', { signal }).catch((error: unknown) => {
        if (signal.aborted) return [`no answer within ${mostMs} ms`];
        throw error;
      });
      found.push(answer[0] as string | undefined);
      if (signal.aborted) break;
    }
  } finally {
    await worker.terminate();
  }
  return found;
}

const unique = (patterns: readonly FoundPattern[]): readonly FoundPattern[] => [
  ...new Map(patterns.map((each) => [`/${each.source}/${each.flags}`, each])).values(),
];

test('matches every pattern of the sources in linear time', async () => {
  const { patterns, computed } = findPatterns(join(import.meta.dirname, '../..'), FOLDERS);
  expect(computed).toEqual(Object.keys(COMPUTED).toSorted());
  const sources = Object.entries(COMPUTED).flatMap(([file, own]) =>
    own.map((source) => ({ file, source, flags: '' })),
  );
  const all = unique([...patterns, ...sources]);
  expect(all.length).toBeGreaterThan(300);
  const slow = (await slowTexts(all)).flatMap((problem, at) =>
    problem === undefined ? [] : [`${all[at]?.file}: /${all[at]?.source}/: ${problem}`],
  );
  expect(slow).toEqual([]);
}, 300_000);

test.each([
  ['\\beyJ[\\w-]+\\.[\\w-]+', 'g'],
  ['[#@]\\s*sourceMappingURL=(\\S+)\\s*(?:\\*\\/)?\\s*$', ''],
  ['^\\s*(\\S+) => not found', 'm'],
  ['^ +| +$', 'g'],
  ['error = (\\{.*\\})$', 'm'],
])('finds a text on which /%s/%s is slow', async (source, flags) => {
  expect(await slowTexts([{ file: '', source, flags }])).toEqual([expect.any(String)]);
});

test('gives up on a pattern that takes exponential time', async () => {
  const [problem] = await slowTexts(
    [{ file: '', source: '^(?:a+)+$', flags: '' }],
    MAX_PATTERN_MS.exponential,
  );
  expect(problem).toMatch(/^no answer within/);
});
