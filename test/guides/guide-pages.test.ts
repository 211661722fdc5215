import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';

const MAX_WORDS = 300;
const GUIDES = ['ai-sdk', 'claude-code', 'codex', 'cursor', 'langgraph', 'openai-agents', 'vs-code'];

test.each(GUIDES)('keeps the guide %s within its length, with code', (page) => {
  const text = readFileSync(new URL(`../../docs/guides/${page}.md`, import.meta.url), 'utf8');
  expect(text.trim().split(/\s+/).length).toBeLessThanOrEqual(MAX_WORDS);
});
