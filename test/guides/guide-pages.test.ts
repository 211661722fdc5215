import { describe, expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { COMMANDS } from '../../client/cli/commands.ts';
import { Porthole } from '../../client/index.ts';

const GUIDES = join(import.meta.dirname, '../../docs/guides');
const MAX_WORDS = { ofGuide: 300, ofMigration: 500 };
const AGENTS = [
  'ai-sdk',
  'claude-code',
  'codex',
  'cursor',
  'langgraph',
  'langgraph-typescript',
  'openai-agents',
  'vs-code',
];
const MIGRATIONS = readdirSync(GUIDES).flatMap((name) => /^(from-.+)\.md$/.exec(name)?.[1] ?? []);

const textOf = (page: string): string => readFileSync(join(GUIDES, `${page}.md`), 'utf8');
const wordsOf = (page: string): number => textOf(page).trim().split(/\s+/).length;

test.each(AGENTS)('keeps %s within the length of a guide, with code', (page) => {
  expect(wordsOf(page)).toBeLessThanOrEqual(MAX_WORDS.ofGuide);
});

describe.each(MIGRATIONS)('%s', (page) => {
  /** The column that names what Porthole has. */
  const ours = [...textOf(page).matchAll(/^\|.*\| (.*?) \|$/gm)].map(([, column = '']) => column).join('\n');

  test('keeps within the length of a page of migration', () => {
    expect(wordsOf(page)).toBeLessThanOrEqual(MAX_WORDS.ofMigration);
  });

  test('names only what the client has', () => {
    const porthole = new Porthole({ url: 'http://127.0.0.1:9' });
    const roots: Readonly<Record<string, object>> = {
      porthole,
      sandbox: porthole.sandboxes.at('a'.repeat(26)),
    };
    const named = [...ours.matchAll(/`(porthole|sandbox)((?:\.\w+)+)/g)];
    for (const [text, root = '', path = ''] of named) {
      const found = path
        .slice(1)
        .split('.')
        .reduce<unknown>((value, name) => Object(value)[name] as unknown, roots[root]);
      expect([text, typeof found]).toEqual([text, 'function']);
    }
    const commands = [...ours.matchAll(/`npx porthole (\w+)/g)].map(([, command = '']) => command);
    expect(commands.filter((command) => !COMMANDS.some(({ name }) => name === command))).toEqual([]);
    expect(named.length + commands.length).toBeGreaterThan(9);
  });
});

test('finds the pages of migration', () => {
  expect(MIGRATIONS).toHaveLength(4);
});
