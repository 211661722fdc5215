import type { ResourceValidationPolicy } from '@pulumi/policy';
import { containersOf, podSpecOf } from './pod-spec.ts';

export const pinnedImages: ResourceValidationPolicy = {
  name: 'pinned-images',
  description: 'An image is pinned by its digest: a tag may be another image tomorrow.',
  remediationSteps:
    'Write image@sha256:{digest}. While developing, disable this policy in the configuration of the pack.',
  validateResource({ type, props }, report) {
    const pod = podSpecOf(type, props);
    if (pod === undefined) return;
    for (const { name, image = '' } of containersOf(pod)) {
      if (!/@sha256:[0-9a-f]{64}$/.test(image)) report(`The image of ${name} is ${image || 'not said'}.`);
    }
  },
};
