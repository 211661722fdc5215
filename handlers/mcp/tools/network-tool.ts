import { z } from 'zod';
import { findSandbox } from '#core/sandboxes/resume-sandbox.ts';
import { networkDtoFields, toNetworkDto } from '../../sandboxes/network-fields.ts';
import { networkAttempts, NetworkAttemptDto } from '../../sandboxes/sandbox-network.ts';
import { defineTool } from '../mcp-tool.ts';
import { runId } from './inputs-tool.ts';
import { runOf } from './run-sandbox-tool.ts';

/** Attempts of an answer. */
const MOST_SHOWN = 50;

export const networkRequestsTool = defineTool({
  name: 'network_requests',
  title: 'Read network requests',
  description:
    'Which hosts the sandbox of a run may reach, and which it tried to reach last: allowed, blocked or failed, and why. Use it when a download or an API call fails.',
  input: z.strictObject({
    run_id: runId,
    refused: z.boolean().default(false).describe('Only what was blocked or failed'),
  }),
  output: z.object({ ...networkDtoFields, attempts: z.array(NetworkAttemptDto).describe('Newest first') }),
  annotations: { readOnlyHint: true },
  async run({ run_id, refused }, context) {
    const { services, caller } = context;
    const { sandboxId } = await runOf(context, run_id);
    const sandbox = await findSandbox(services, caller, sandboxId, { agents: true });
    const attempts = (await networkAttempts(services, sandbox.id))
      .filter(({ decision }) => !refused || decision !== 'allowed')
      .slice(0, MOST_SHOWN);
    const policy = toNetworkDto(sandbox.network);
    const lines = attempts.map(
      ({ at, host, port, decision, rule }) => `${at} ${host}:${port} ${decision} (${rule})`,
    );
    return {
      data: { ...policy, attempts },
      text: [`Network: ${JSON.stringify(policy)}`, ...lines].join('\n'),
    };
  },
});
