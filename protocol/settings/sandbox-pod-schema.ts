import { z } from 'zod';
import { DOMAIN, LABELS, SANDBOX_POD_LABELS } from '../cluster-labels.ts';

const NAME = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)?$/;

/** Keys that Porthole, cdk8s or the API server sets on a sandbox's pod. */
const isReserved = (key: string): boolean =>
  key === LABELS.managedBy ||
  key === LABELS.component ||
  [DOMAIN, 'cdk8s.io', 'kubernetes.io'].includes(key.split('/', 1)[0] ?? '');

const name = z.string().regex(NAME, 'must be a name, e.g. team or example.com/team');
const ownName = name.refine((key) => !isReserved(key), 'is a key that Porthole or Kubernetes sets');
const labelValue = z.string().regex(LABEL_VALUE, 'must be the value of a label');
const object = z.record(z.string(), z.unknown());

export const TolerationSchema = z.strictObject({
  key: name.optional(),
  operator: z.enum(['Exists', 'Equal']).optional(),
  value: labelValue.optional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional(),
  tolerationSeconds: z.int().optional(),
});

/** The API server expands these keys, so the admission policy would reject every sandbox. */
const isUnexpanded = (value: unknown): boolean => !/"(mis)?matchLabelKeys"/.test(JSON.stringify(value));
const EXPANDED = 'must not have matchLabelKeys: use a labelSelector';

const count = z.int('must be a whole number').min(1, 'must be at least 1');

const SpreadConstraint = z.looseObject({
  maxSkew: count.default(1),
  topologyKey: name,
  whenUnsatisfiable: z.enum(['DoNotSchedule', 'ScheduleAnyway']),
  // Without a selector, Kubernetes counts no pods.
  labelSelector: object.default({ matchLabels: SANDBOX_POD_LABELS }),
});

/** What an installation adds to the pod of every sandbox. */
export const SandboxPodSchema = z.strictObject({
  labels: z
    .record(ownName, labelValue)
    .default({})
    .describe("Labels of a sandbox's pod besides Porthole's, e.g. for cost allocation"),
  annotations: z
    .record(ownName, z.string())
    .default({})
    .describe("Annotations of a sandbox's pod besides Porthole's"),
  nodeSelector: z
    .record(name, labelValue)
    .default({})
    .describe('Labels of the nodes that sandboxes run on; any node by default'),
  tolerations: z
    .array(TolerationSchema)
    .default([])
    .describe('Taints that sandboxes tolerate, as in a PodSpec; only those of Kubernetes by default'),
  affinity: z
    .partialRecord(z.enum(['nodeAffinity', 'podAffinity', 'podAntiAffinity']), object)
    .refine(isUnexpanded, EXPANDED)
    .optional()
    .describe('Affinity, as in a PodSpec, without `matchLabelKeys`'),
  topologySpreadConstraints: z
    .array(SpreadConstraint)
    .refine(isUnexpanded, EXPANDED)
    .optional()
    .describe('Spread, as in a PodSpec, without `matchLabelKeys`; over all sandboxes by default'),
});
