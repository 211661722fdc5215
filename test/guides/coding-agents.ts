/**
 * The command lines of coding agents, and the packages of frameworks that no other test uses, in a
 * cache outside the repository. `npm run agents:install` installs them.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder } from '#test/cluster/fixture/program-cache.ts';
import { npm } from '#test/frameworks/framework-cache.ts';
import type { Missing } from '#test/support/suite.ts';

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

/** Peers are packages that the others import; the repository's own settings leave them out. */
const INSTALL = ['install', '--ignore-scripts', '--include=peer'];

const wanted = JSON.stringify([process.platform, process.arch, PACKAGES, INSTALL]);
const folder = join(
  cacheFolder(),
  `agents-${createHash('sha256').update(wanted).digest('hex').slice(0, 16)}`,
);

export const agentsMissing: Missing = existsSync(folder)
  ? undefined
  : 'The coding agents are not in the cache: npm run agents:install';

export const agentPackages = join(folder, 'node_modules');

/** The program itself: its package has only a script that finds it. */
export const claudeCode = join(
  agentPackages,
  `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
);
export const codex = join(agentPackages, '.bin/codex');

async function install(): Promise<void> {
  const work = join(cacheFolder(), 'installing-agents');
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true });
  const manifest = { name: 'agents', private: true, dependencies: PACKAGES };
  await writeFile(join(work, 'package.json'), JSON.stringify(manifest));
  await npm(INSTALL, work);
  // Earlier versions have nearly a gigabyte each.
  for (const name of await readdir(cacheFolder())) {
    if (name.startsWith('agents-')) await rm(join(cacheFolder(), name), { recursive: true });
  }
  await rename(work, folder);
}

if (import.meta.main && !existsSync(folder)) await install();
