import type { ResourceValidationPolicy } from '@pulumi/policy';
import { isConfigMap } from './kinds.ts';
import { type Container, containersOf, podSpecOf } from './pod-spec.ts';

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

type Image = Pick<Container, 'name' | 'image'>;

function imagesOf(type: string, props: object): readonly Image[] {
  if (isConfigMap(type)) {
    return configuredImages((props as { data?: Record<string, string> }).data ?? {});
  }
  const pod = podSpecOf(type, props);
  if (pod === undefined) return [];
  return containersOf(pod).flatMap((container) => [
    container,
    ...configuredImages(Object.fromEntries((container.env ?? []).map(({ name, value }) => [name, value]))),
  ]);
}

/** The images of the pods that the functions make with these settings. */
function configuredImages(settings: Readonly<Record<string, string | undefined>>): readonly Image[] {
  const { PORTHOLE_SANDBOX_IMAGE, PORTHOLE_GUEST_IMAGE, PORTHOLE_IMAGES = '{}' } = settings;
  const catalogue = JSON.parse(PORTHOLE_IMAGES) as Readonly<Record<string, { readonly reference?: string }>>;
  return [
    ...(PORTHOLE_SANDBOX_IMAGE === undefined ? [] : [{ name: 'sandboxes', image: PORTHOLE_SANDBOX_IMAGE }]),
    ...(PORTHOLE_GUEST_IMAGE === undefined ? [] : [{ name: 'the guest', image: PORTHOLE_GUEST_IMAGE }]),
    ...Object.entries(catalogue).map(([name, { reference = '' }]) => ({ name, image: reference })),
  ];
}
