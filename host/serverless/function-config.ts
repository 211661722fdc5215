import { type Config, readConfig } from '../config/config.ts';
import { ConfigError } from '#protocol/settings/read-environment.ts';
import { isOnOneMachine, isShortKey, SHORT_KEY } from '#protocol/settings/contradictions.ts';

// All that opens the services of a function is one module, because each costs time.
export { secretsOf } from '../config/config.ts';
export { openServices } from '../open-services.ts';

/**
 * The configuration of a function that stores nothing between two requests and is open to the
 * internet.
 * @throws ConfigError naming every problem at once
 */
export function readFunctionConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const config = readConfig(environment);
  const problems = [
    isOnOneMachine(config) &&
      'PORTHOLE_PROVIDER: a function runs no sandboxes itself: set kubernetes, agent-sandbox or auto',
    config.databaseUrl === undefined &&
      'DATABASE_URL: required, because a function keeps no records between two requests',
    !config.preview.enabled &&
      'Sandbox__Preview__Enabled: loopback listeners would end with the function: set true',
    config.serviceKey === undefined &&
      config.oidc === undefined &&
      Object.keys(config.apiKeys).length === 0 &&
      'SANDBOX_API_KEY: nothing is configured to tell callers apart: set it, PORTHOLE_API_KEYS or OIDC_ISSUER',
    isShortKey(config.serviceKey) && `SANDBOX_API_KEY: ${SHORT_KEY}: set a longer key (openssl rand -hex 24)`,
  ].filter((problem) => problem !== false);
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}
