/**
 * The command lines of coding agents, and the packages of frameworks that no other test uses, in a
 * cache outside the repository. `npm run agents:install` installs them.
 */
import { join } from 'node:path';
import { NpmCache } from '#test/support/npm-cache.ts';

const PACKAGES = {
  '@anthropic-ai/claude-code': '2.1.332',
  '@openai/codex': '0.171.0',
  ai: '7.0.173',
  '@ai-sdk/mcp': '2.0.99',
  '@ai-sdk/openai': '4.0.118',
  langchain: '1.5.14',
  '@langchain/mcp-adapters': '1.1.4',
  '@langchain/openai': '1.6.0',
  zod: '4.6.7',
};

const cache = new NpmCache('agents', PACKAGES);

export const agentsMissing = cache.missing;
export const agentPackages = cache.modules;

/** The program itself: its package has only a script that finds it. */
export const claudeCode = join(
  agentPackages,
  `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
);
export const codex = join(agentPackages, '.bin/codex');

if (import.meta.main) await cache.install();
