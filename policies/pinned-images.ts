import type { ResourceValidationPolicy } from '@pulumi/policy';
import { isConfigMap } from './kinds.ts';
import { containersOf, podSpecOf } from './pod-spec.ts';

export const pinnedImages: ResourceValidationPolicy = {
  name: 'pinned-images',
  description: 'An image is pinned by its digest: a tag may be another image tomorrow.',
  remediationSteps:
    'Write image@sha256:{digest}. While developing, disable this policy in the configuration of the pack.',
  validateResource({ type, props }, report) {
    for (const { name, image = '' } of imagesOf(type, props)) {
      if (!/@sha256:[0-9a-f]{64}$/.test(image)) report(`The image of ${name} is ${image || 'not said'}.`);
    }
  },
};

function imagesOf(
  type: string,
  props: object,
): readonly { readonly name: string; readonly image?: string }[] {
  if (isConfigMap(type)) {
    // The functions make pods of this image.
    const { PORTHOLE_SANDBOX_IMAGE: image } = (props as { data?: Record<string, string> }).data ?? {};
    return image === undefined ? [] : [{ name: 'sandboxes', image }];
  }
  const pod = podSpecOf(type, props);
  return pod === undefined ? [] : containersOf(pod);
}
