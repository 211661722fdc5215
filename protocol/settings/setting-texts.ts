import { z } from 'zod';
import { EnvironmentSchema } from './environment-schema.ts';

export interface SettingText {
  readonly name: string;
  /** As JSON; undefined: the setting has no default. */
  readonly default: string | undefined;
  /** Its meaning, with the values to choose from. */
  readonly meaning: string;
}

/** Every setting of a host, for the list that users read. */
export function settingTexts(): SettingText[] {
  return Object.entries(EnvironmentSchema.shape).map(([name, schema]) => {
    const { default: fallback, enum: values } = z.toJSONSchema(schema, {
      io: 'output',
      unrepresentable: 'any',
    });
    const isEmpty = fallback === undefined || (Array.isArray(fallback) && fallback.length === 0);
    const choice = Array.isArray(values) ? `: ${values.join(', ')}` : '';
    return {
      name,
      default: isEmpty ? undefined : JSON.stringify(fallback),
      meaning: `${schema.description ?? ''}${choice}`,
    };
  });
}
