/** The editor, with containers as the sandboxes of its snapshots. */
import { afterAll, beforeAll, describe } from '@jest/globals';
import { editorContract } from '#test/contracts/editor.contract.ts';
import { suite } from '#test/support/suite.ts';
import { dockerEnvironment } from './support/docker-environment.ts';
import { engineMissing, openTestEngine, type TestEngine } from './support/engine.ts';

suite('the editor, in containers', engineMissing(), () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await openTestEngine();
  }, 120_000);
  afterAll(() => engine.stop());

  // The tests' image has no Python.
  describe('over HTTP', () => editorContract(() => dockerEnvironment(engine), ['node']));
});
