/** The doctor, the agent's tools, the command and secrets in sandboxes that are containers. */
import { afterAll, beforeAll, describe } from '@jest/globals';
import { agentToolsContract } from '#test/contracts/agent-tools.contract.ts';
import { doctorContract } from '#test/contracts/doctor.contract.ts';
import { networkSecretsContract } from '#test/contracts/network-secrets.contract.ts';
import { portholeCommandContract } from '#test/contracts/porthole-command.contract.ts';
import { suite } from '#test/support/suite.ts';
import { dockerEnvironment } from './support/docker-environment.ts';
import { engineMissing, openTestEngine, type TestEngine } from './support/engine.ts';

suite('in containers', engineMissing(), () => {
  let engine: TestEngine;
  const settings = () => dockerEnvironment(engine);
  beforeAll(async () => {
    engine = await openTestEngine();
  }, 120_000);
  afterAll(() => engine.stop());

  portholeCommandContract(settings);
  describe('the doctor', () => doctorContract(settings));
  describe('the tools of an agent', () => agentToolsContract(settings));
  describe('secrets that never enter a container', () => void networkSecretsContract(settings));
});
