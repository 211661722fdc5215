import type { TestEngine } from './engine.ts';

/** The settings of a host that runs its sandboxes as containers of the tests' engine. */
export function dockerEnvironment({ host, image }: TestEngine): Record<string, string> {
  return { PORTHOLE_PROVIDER: 'docker', DOCKER_HOST: host, PORTHOLE_SANDBOX_IMAGE: image };
}
