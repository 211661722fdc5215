import { describeRights } from './describe-rights.ts';
import { describeSettings } from './describe-settings.ts';
import { code, pageOf, tableOf } from './markdown.ts';

/** Every key of a stack file. */
export function stackSettingsPage(): string {
  return pageOf(
    '# Settings of a stack',
    'Keys of `Pulumi.{stack}.yaml`. [Options](../guides/deploy-options.md) explains the larger groups.',
    'Each key has the prefix `porthole:`. Write groups as YAML, or set keys one by one: `pulumi config set --path porthole:preview.maxTotal 50`.',
    tableOf(
      ['key', 'default', 'meaning'],
      describeSettings().map(({ key, default: byDefault, what }) => [code(key), byDefault, what]),
    ),
  );
}

/** Every right of the service accounts. */
export function stackRightsPage(): string {
  const mark = (has: boolean) => (has ? '✓' : '');
  const marks = { never: '', always: '✓', 'where it archives': 'archives' };
  return pageOf(
    '# Rights of the service accounts',
    'Rights in the namespace of previews; the accounts have no others. [Rights and limits](../guides/deploy-security.md) explains the columns.',
    tableOf(
      ['right', 'pods', 'claims', 'reaper', 'lifecycle', 'snapshots', 'purpose'],
      describeRights().map(({ right, what, pods, claims, reaper, lifecycle, snapshots }) => [
        code(right),
        mark(pods),
        mark(claims),
        mark(reaper),
        marks[lifecycle],
        mark(snapshots),
        what,
      ]),
    ),
  );
}
