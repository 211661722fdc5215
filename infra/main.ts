/** What `pulumi up` runs: reads the stack's configuration, and declares Porthole. */
import * as pulumi from '@pulumi/pulumi';
import { Porthole } from './porthole-stack.ts';
import { readStackConfig, StackConfigError } from './read-stack-config.ts';

// How the engine tells which keys the stack file holds encrypted.
const encrypted = new Set(JSON.parse(process.env['PULUMI_CONFIG_SECRET_KEYS'] ?? '[]') as string[]);

const porthole = new Porthole('porthole', readConfig());

export const apiUrl = porthole.apiUrl;
export const previewZone = porthole.previewZone;
export const gatewayAddress = porthole.gatewayAddress;

function readConfig() {
  try {
    return readStackConfig(pulumi.runtime.allConfig(), (key) => encrypted.has(key));
  } catch (error) {
    // Shown without a stack: whoever runs the update needs the problems alone.
    throw error instanceof StackConfigError ? new pulumi.RunError(error.message) : error;
  }
}
