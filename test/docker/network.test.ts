import { afterAll, beforeAll, describe } from '@jest/globals';
import { imagesMissing, say, withBuilds } from '#test/cluster/images/built-images.ts';
import { CATALOGUE_RECIPES } from '#test/cluster/images/image-recipe.ts';
import { networkToolsContract } from '#test/contracts/network-tools.contract.ts';
import { suite } from '#test/support/suite.ts';
import { dockerEnvironment } from './support/docker-environment.ts';
import { engineMissing, openTestEngine, type TestEngine } from './support/engine.ts';

const { multi } = CATALOGUE_RECIPES;

suite('the network of a container', engineMissing() ?? imagesMissing({ multi }), () => {
  let engine: TestEngine;
  let image: string;
  beforeAll(async () => {
    engine = await openTestEngine();
    image = await withBuilds({ multi }, say, async ([built]) => {
      if (built === undefined) throw new Error('no image');
      return engine.loadBuilt(built);
    });
  }, 900_000);
  afterAll(() => engine.stop());

  describe('for package managers', () =>
    networkToolsContract(() => ({ ...dockerEnvironment(engine), PORTHOLE_SANDBOX_IMAGE: image })));
});
