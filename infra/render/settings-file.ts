import { closestName } from '../../base/closest-name.ts';
import { StackConfigSchema } from '../stack-config-schema.ts';

export interface SettingsFile {
  readonly settings: Readonly<Record<string, unknown>>;
  /** Keys that would be ignored, one line each. */
  readonly problems: readonly string[];
}

const PREFIX = 'porthole:';
const KNOWN = Object.keys(StackConfigSchema.shape).map((key) => `${PREFIX}${key}`);
/** What Pulumi writes into a stack file itself. */
const STACK_KEYS = ['config', 'secretsprovider', 'encryptedkey', 'encryptionsalt', 'environment'];

/**
 * The settings of a file: below `config`, as in a stack file of Pulumi, or at its top.
 * @param content as parsed from YAML
 */
export function settingsFile(file: string, content: unknown): SettingsFile {
  if (!isMap(content)) return { settings: {}, problems: [`${file}: must be keys and values`] };
  const { config } = content;
  if (config === undefined) {
    return { settings: content, problems: unknownKeys(file, content, (key) => key.startsWith(PREFIX)) };
  }
  const settings = config ?? {};
  if (!isMap(settings)) return { settings: {}, problems: [`${file}: config must be keys and values`] };
  const problems = [
    ...unknownKeys(file, content, (key) => STACK_KEYS.includes(key)),
    // A stack file also has the settings of other packages, such as `kubernetes:context`.
    ...unknownKeys(file, settings, (key) => key.includes(':')),
  ];
  return { settings, problems };
}

function unknownKeys(file: string, settings: object, isKnown: (key: string) => boolean): string[] {
  return Object.keys(settings)
    .filter((key) => !isKnown(key))
    .map((key) => {
      const close = closestName(key.startsWith(PREFIX) ? key : `${PREFIX}${key}`, KNOWN);
      const remedy = close === undefined ? `settings begin with ${PREFIX}` : `did you mean ${close}?`;
      return `${file}: ${key}: is not a setting; ${remedy}`;
    });
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
