/**
 * `node build/write-reference.ts`: writes the pages of `docs/reference` that come from the code.
 * With `--check`, part of `npm run check`, it names those that are not up to date and exits with 1.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiPage } from './reference/api-page.ts';
import { commandPage, errorsPage, settingsPage, toolsPage } from './reference/catalogue-pages.ts';
import { eventsPage } from './reference/events-page.ts';
import { stackRightsPage, stackSettingsPage } from './reference/stack-pages.ts';

const PAGES = {
  api: apiPage,
  cli: commandPage,
  'deploy-rights': stackRightsPage,
  'deploy-settings': stackSettingsPage,
  errors: errorsPage,
  events: eventsPage,
  'mcp-tools': toolsPage,
  settings: settingsPage,
};

const isCheck = process.argv.includes('--check');
for (const [name, render] of Object.entries(PAGES)) {
  const file = `docs/reference/${name}.md`;
  const path = join(import.meta.dirname, '..', file);
  if (!isCheck) writeFileSync(path, render());
  else if (readFileSync(path, 'utf8') !== render()) {
    process.stderr.write(`${file} is not up to date: run node build/write-reference.ts\n`);
    process.exitCode = 1;
  }
}
