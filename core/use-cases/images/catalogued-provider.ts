import type { SandboxProvider } from '../../ports/sandbox-provider.ts';
import { changedProvider } from '../changed-provider.ts';
import { type CatalogueDeps, findImage } from './image-catalogue.ts';

/** A provider whose images go by their names in the catalogue. Without one it is the provider's own default. */
export function cataloguedProvider(provider: SandboxProvider, catalogue: CatalogueDeps): SandboxProvider {
  return changedProvider(provider, {
    async create(spec, signal) {
      const image = spec.image === undefined ? undefined : await findImage(catalogue, spec.image);
      await provider.create({ ...spec, image: image?.reference }, signal);
    },
  });
}
