/** Entry point of `pulumi up`: reads the stack's configuration, and declares Porthole. */
import * as pulumi from '@pulumi/pulumi';
import { Porthole } from './porthole-stack.ts';
import { readStackConfig, StackConfigError } from './read-stack-config.ts';

// The engine passes the keys that are encrypted in the stack file here.
const encrypted = new Set(JSON.parse(process.env['PULUMI_CONFIG_SECRET_KEYS'] ?? '[]') as string[]);

const porthole = new Porthole('porthole', readConfig());

export const apiUrl = porthole.apiUrl;
export const previewZone = porthole.previewZone;
export const gatewayAddress = porthole.gatewayAddress;

function readConfig() {
  try {
    return readStackConfig(pulumi.runtime.allConfig(), (key) => encrypted.has(key));
  } catch (error) {
    // RunError prints no stack trace: operators need only the problems.
    throw error instanceof StackConfigError ? new pulumi.RunError(error.message) : error;
  }
}
