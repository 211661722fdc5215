import type * as pulumi from '@pulumi/pulumi';
import type { z } from 'zod';
import type { StackConfigSchema } from './stack-config-schema.ts';

type Settings = z.input<typeof StackConfigSchema>;

/**
 * Texts may be outputs of other resources. Numbers, flags and choices decide which resources exist.
 */
type WithInputs<Value> = Value extends string
  ? string extends Value
    ? pulumi.Input<string>
    : Value
  : Value extends readonly (infer Item)[]
    ? readonly WithInputs<Item>[]
    : Value extends object
      ? { readonly [Key in keyof Value]: WithInputs<Value[Key]> }
      : Value;

/** Settings that name resources or decide how many there are. */
type Plain = 'namespaces' | 'context';

/**
 * What Porthole and each of its parts take: the settings of a stack file, without `porthole:`
 * (`docs/reference/deploy-settings.md` lists them).
 */
export type PortholeArgs = WithInputs<Omit<Settings, Plain>> & Pick<Settings, Plain>;

/** Paths at which a text must be plain, and why. */
export const PLAIN_PATHS: readonly [path: RegExp, why: string][] = [
  [/^(namespaces|context)\b/, 'it names resources'],
  [/^certificates\.(preview|api)Secret$/, 'it names resources'],
  [/^zones\.\d+\.(zone|gateway\.(name|secret))$/, 'it names resources'],
  [/^sandboxes\.(warmPool|warmPools\..*)$/, 'it decides where sandboxes come from'],
  [/^sandboxes\.templates\.[^.]+\.(cpu|memory|storage)$/, 'sizes are computed from it'],
  [/^environment\.(PORT|PORTHOLE_DATA_DIR)$/, 'pods and network policies are computed from it'],
  [/^(sandboxes|broker|browsers)\.egress\./, 'network policies are computed from it'],
];
