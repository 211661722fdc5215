/** What every object of the stack is labelled with. */
export const STACK_LABELS = { 'app.kubernetes.io/part-of': 'porthole' } as const;

/** The pods of one component, as selectors and labels spell them. */
export function componentLabels(
  component: 'functions' | 'reaper' | 'lifecycle' | 'snapshots-clean' | 'warm-pool',
) {
  return {
    ...STACK_LABELS,
    'app.kubernetes.io/name': 'porthole',
    'app.kubernetes.io/component': component,
  } as const;
}

/** How a selector finds a namespace by its name: the API server puts this label on every one. */
export const NAMESPACE_NAME = 'kubernetes.io/metadata.name';
