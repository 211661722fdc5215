import type { StackConfig } from './stack-config-schema.ts';

/** Labels of every object of the stack. */
export const STACK_LABELS = { 'app.kubernetes.io/part-of': 'porthole' } as const;

/** Metadata of an object in the functions' namespace. */
export function ownMetadata({ namespaces }: Pick<StackConfig, 'namespaces'>, name: string) {
  return { name, namespace: namespaces.functions, labels: STACK_LABELS };
}

/** Labels and selector of one component's pods. */
export function componentLabels(
  component: 'functions' | 'broker' | 'browsers' | 'reaper' | 'lifecycle' | 'snapshots-clean' | 'warm-pool',
) {
  return {
    ...STACK_LABELS,
    'app.kubernetes.io/name': 'porthole',
    'app.kubernetes.io/component': component,
  } as const;
}

/** Service accounts of the stack, all in the functions' namespace. */
export const SERVICE_ACCOUNTS = {
  functions: 'porthole',
  broker: 'porthole-broker',
  reaper: 'porthole-reaper',
  lifecycle: 'porthole-lifecycle',
  'snapshots-clean': 'porthole-snapshots-clean',
} as const;
