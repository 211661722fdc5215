import { z } from 'zod';
import { StackConfigSchema } from '../../../infra/stack-config/stack-config-schema.ts';

export interface Setting {
  /** As in a stack file, without `porthole:`; `{name}` stands for a name of your own. */
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
    // What the program reads is text; what people write is what that text holds.
    const inner = structureOf(schema) ?? schema;
    const isRequired = inner === schema && !schema.safeParse(undefined).success;
    const json = z.toJSONSchema(inner, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
    const isOptionalGroup = schema._zod.def.type === 'optional' && inner !== schema;
    return settingsOf(key, json, isOptionalGroup ? `required with \`${key}\`` : 'required', isRequired);
  });
}

/** The schema behind the JSON of a structured key; undefined for plain text. */
function structureOf(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  const { type } = schema._zod.def;
  if (type === 'optional' || type === 'prefault') {
    return structureOf((schema as z.ZodOptional | z.ZodPrefault)._zod.def.innerType);
  }
  return type === 'pipe' ? (schema as z.ZodPipe)._zod.def.out : undefined;
}

/** @param need what to say of a setting without which the group is not complete */
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
