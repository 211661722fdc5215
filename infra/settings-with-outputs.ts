import * as pulumi from '@pulumi/pulumi';
import { deriveGuestKeys } from './sandboxes.plan.ts';
import { readSettings, StackConfigError } from './read-stack-config.ts';
import type { StackConfig } from './stack-config-schema.ts';
import { placeholder } from './placeholders.ts';
import { PLAIN_PATHS, type PortholeArgs } from './porthole-args.ts';

type Path = readonly string[];

/** An output among the settings, and the text that replaces it in plans. */
interface Placeholder {
  readonly text: string;
  readonly path: Path;
  readonly value: pulumi.Output<unknown>;
}

/**
 * Settings with placeholders for outputs, so that plans stay pure functions of known values.
 * `resolve` puts the outputs back into the result of a plan.
 */
export class SettingsWithOutputs {
  readonly config: StackConfig;
  readonly #placeholders: readonly Placeholder[];

  private constructor(config: StackConfig, placeholders: readonly Placeholder[]) {
    this.config = config;
    this.#placeholders = placeholders;
  }

  /**
   * @throws StackConfigError naming every problem of the known values. Outputs are validated once
   * known; an invalid one fails the resources that use it
   */
  static of(args: PortholeArgs | SettingsWithOutputs): SettingsWithOutputs {
    if (args instanceof SettingsWithOutputs) return args;
    const placeholders: Placeholder[] = [];
    const given = replaceOutputs(withGuestKeys(args), [], placeholders);
    const misplaced = placeholders.flatMap(({ path }) => {
      const key = path.join('.');
      const why = PLAIN_PATHS.find(([pattern]) => pattern.test(key))?.[1];
      return why === undefined ? [] : [`${key}: must be plain text, not an output: ${why}`];
    });
    if (misplaced.length > 0) throw new StackConfigError(misplaced);
    const settings = placeholders.reduce<unknown>((all, { path, text }) => setAt(all, path, text), given);
    return new SettingsWithOutputs(
      readSettings(settings),
      placeholders.map((each) => checked(each, settings)),
    );
  }

  /** A plan's result with the outputs; the type is unchanged, because resources take either. */
  readonly resolve = <Plan>(plan: Plan): Plan =>
    (this.#placeholders.length === 0 ? plan : this.#resolve(plan)) as Plan;

  #resolve(value: unknown): unknown {
    if (typeof value === 'string') return this.#text(value);
    if (Array.isArray(value)) return value.map((item) => this.#resolve(item));
    if (typeof value !== 'object' || value === null || isOutput(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.#resolve(each)]));
  }

  #text(text: string): pulumi.Input<string> {
    const within = this.#placeholders.filter((each) => text.includes(each.text));
    if (within.length === 0) return text;
    return pulumi
      .all(within.map(({ value }) => value))
      .apply((values) =>
        within.reduce((all, each, at) => all.replaceAll(each.text, () => String(values[at])), text),
      );
  }
}

/** What a component of the stack is made from. */
interface ComponentParts extends Pick<SettingsWithOutputs, 'config' | 'resolve'> {
  readonly name: string;
  /** For the resources of the component. */
  readonly parent: pulumi.Resource;
}

/** A component class. `make` creates its resources, and returns its outputs. */
export function component(
  type: string,
  make: (parts: ComponentParts) => pulumi.Inputs,
): new (
  name: string,
  args: PortholeArgs | SettingsWithOutputs,
  opts?: pulumi.ComponentResourceOptions,
) => pulumi.ComponentResource {
  return class extends pulumi.ComponentResource {
    constructor(
      name: string,
      args: PortholeArgs | SettingsWithOutputs,
      opts?: pulumi.ComponentResourceOptions,
    ) {
      super(`porthole:infra:${type}`, name, {}, opts);
      const { config, resolve } = SettingsWithOutputs.of(args);
      this.registerOutputs(make({ name, config, resolve, parent: this }));
    }
  };
}

/** Public keys of guests are computed from the signing keys, not from their placeholder. */
function withGuestKeys(args: PortholeArgs): unknown {
  const { signingKeys, sandboxes } = args;
  if (!isOutput(signingKeys) || sandboxes?.guestKeys !== undefined) return args;
  const keys = pulumi.unsecret(pulumi.output(signingKeys as pulumi.Input<string>).apply(deriveGuestKeys));
  return { ...args, sandboxes: { ...sandboxes, guestKeys: keys } };
}

function isOutput(value: unknown): boolean {
  return pulumi.Output.isInstance(value) || value instanceof Promise;
}

function replaceOutputs(value: unknown, path: Path, placeholders: Placeholder[]): unknown {
  if (isOutput(value)) {
    placeholders.push({ text: placeholder(placeholders.length), path, value: pulumi.output(value) });
    return undefined;
  }
  if (Array.isArray(value))
    return value.map((item, at) => replaceOutputs(item, [...path, `${at}`], placeholders));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, replaceOutputs(each, [...path, key], placeholders)]),
  );
}

/** Validates the real value of a placeholder against the settings. */
function checked(output: Placeholder, settings: unknown): Placeholder {
  const value = output.value.apply((known) => {
    // An output may be a secret.
    readSettings(setAt(settings, output.path, known), () => true);
    return known;
  });
  return { ...output, value };
}

function setAt(value: unknown, [key, ...rest]: Path, leaf: unknown): unknown {
  if (key === undefined) return leaf;
  if (Array.isArray(value)) {
    return value.map((item: unknown, at) => (String(at) === key ? setAt(item, rest, leaf) : item));
  }
  const record = (value ?? {}) as Readonly<Record<string, unknown>>;
  return { ...record, [key]: setAt(record[key], rest, leaf) };
}
