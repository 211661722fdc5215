import { z } from 'zod';
import { StackConfigSchema } from '../../infra/stack-config-schema.ts';

export interface Setting {
  /** As in a stack file, without `porthole:`; `{name}` is a placeholder for a chosen name. */
  readonly key: string;
  readonly default: string;
  readonly what: string;
}

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly default?: unknown;
}

/** Every setting with its default, for the page that lists them. */
export function describeSettings(): Setting[] {
  return Object.entries(StackConfigSchema.shape).flatMap(([key, schema]) => {
    const isRequired = !schema.safeParse(undefined).success && !schema.safeParse({}).success;
    const json = z.toJSONSchema(schema, {
      io: 'input',
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => {
        if (zodSchema._zod.def.type !== 'pipe') return;
        // A variable of the functions: its default follows the conversion to text.
        const { data } = (zodSchema as unknown as z.ZodType).safeParse(undefined);
        if (data !== undefined) jsonSchema.default = data;
      },
    }) as JsonSchema;
    const isGroup = json.properties !== undefined;
    const isOptionalGroup = isGroup && schema._zod.def.type === 'optional';
    return settingsOf(key, json, isOptionalGroup ? `required with \`${key}\`` : 'required', isRequired);
  });
}

/** @param need the text for a setting that the group requires */
function settingsOf(key: string, schema: JsonSchema, need: string, isNeeded: boolean): Setting[] {
  if (isMap(schema)) {
    const { additionalProperties: each, description = '' } = schema;
    const inner = each.properties === undefined ? [] : settingsOf(`${key}.{name}`, each, 'required', true);
    return [{ key, default: defaultOf(schema, need, isNeeded), what: description }, ...inner];
  }
  if (schema.properties === undefined) {
    return [{ key, default: defaultOf(schema, need, isNeeded), what: schema.description ?? '' }];
  }
  const { properties, required = [] } = schema;
  return Object.entries(properties).flatMap(([name, each]) => {
    const isGroup = each.properties !== undefined;
    const inner = isGroup && !required.includes(name) ? `required with \`${key}.${name}\`` : need;
    return settingsOf(`${key}.${name}`, each, inner, required.includes(name));
  });
}

function isMap(schema: JsonSchema): schema is JsonSchema & { readonly additionalProperties: JsonSchema } {
  return typeof schema.additionalProperties === 'object' && schema.properties === undefined;
}

function defaultOf(schema: JsonSchema, need: string, isNeeded: boolean): string {
  if (schema.default !== undefined) return `\`${JSON.stringify(schema.default).replaceAll('"', '')}\``;
  return isNeeded ? need : '';
}
