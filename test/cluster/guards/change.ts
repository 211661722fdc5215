import { ANNOTATIONS } from '#constructs/names.ts';
import { type Properties, withValueAt } from '../../pulumi/wire-values.ts';

/** A change to a manifest. */
export type Change = (object: Properties) => Properties;

/**
 * A manifest that must be refused: the defect, the change that causes it, and a word of the reason.
 */
export type BadManifest = readonly [what: string, spoil: Change, reason: string];

/** @param path keys separated by dots; an undefined value removes the last one */
export const at =
  (path: string, value: unknown): Change =>
  (object) =>
    withValueAt(object, path, value);

/** Changes a map that has dots in its keys. */
const inMap =
  (field: 'labels' | 'annotations', key: string, value: string | undefined): Change =>
  (object) => {
    const metadata = object['metadata'] as Record<string, Record<string, string> | undefined>;
    const { [key]: _, ...others } = metadata[field] ?? {};
    return withValueAt(
      object,
      `metadata.${field}`,
      value === undefined ? others : { ...others, [key]: value },
    );
  };

export const labelled = (label: string, value: string | undefined): Change => inMap('labels', label, value);

export const noted = (id: keyof typeof ANNOTATIONS, value: string | undefined): Change =>
  inMap('annotations', ANNOTATIONS[id], value);

export const unlabelled: Change = at('metadata.labels', undefined);

/** Changes every element of a list in the object's spec. */
export const each =
  (list: string, change: Change): Change =>
  (object) => {
    const spec = object['spec'] as Record<string, Properties[]>;
    return withValueAt(object, `spec.${list}`, (spec[list] ?? []).map(change));
  };

/** Adds an element to a list in the object's spec. */
export const oneMore =
  (list: string, element: Properties): Change =>
  (object) => {
    const spec = object['spec'] as Record<string, Properties[] | undefined>;
    return withValueAt(object, `spec.${list}`, [...(spec[list] ?? []), element]);
  };
