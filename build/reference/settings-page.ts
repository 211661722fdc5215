import { settingTexts } from '#protocol/settings/setting-texts.ts';
import { code, pageOf, tableOf } from './markdown.ts';

/** Every setting of `npm start` and of the functions. */
export function settingsPage(): string {
  const rows = settingTexts().map(({ name, default: fallback, meaning }) => [
    code(name),
    fallback === undefined ? '' : code(fallback),
    meaning,
  ]);
  return pageOf(
    '# Settings',
    'Environment variables of `npm start`. `npm run config` prints the same list. In a cluster, set them under `environment` of the [stack](deploy-settings.md).',
    tableOf(['setting', 'default', 'meaning'], rows),
  );
}
