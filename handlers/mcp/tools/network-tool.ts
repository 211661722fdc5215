import { z } from 'zod';
import { findSandbox } from '#core/sandboxes/resume-sandbox.ts';
import { networkRequests } from '#core/network/network-questions.ts';
import { networkDtoFields, toNetworkDto } from '../../sandboxes/network-fields.ts';
import { networkAttempts, NetworkAttemptDto } from '../../sandboxes/sandbox-network.ts';
import { defineTool, fitting } from '../mcp-tool.ts';
import { toWaitingHost, WaitingHostDto } from './run-command-tool.ts';
import { runId, runOf } from './run-sandbox-tool.ts';

/** Attempts of an answer, and characters of the JSON of each list. */
const MAX_SHOWN = 50;
const MAX_JSON_CHARS = 10_000;

export const networkRequestsTool = defineTool({
  name: 'network_requests',
  title: 'Read network requests',
  description:
    'Which hosts the sandbox may reach, which it tried to reach last, with the outcome and why, and what waits for its owner. Use it when a download or an API call fails.',
  input: z.strictObject({
    run_id: runId,
    refused: z.boolean().default(false).describe('Only what was blocked or failed'),
  }),
  output: z.object({
    ...networkDtoFields,
    attempts: z.array(NetworkAttemptDto).describe('Newest first'),
    waiting: z.array(WaitingHostDto).describe('Hosts that the owner is asked about'),
    is_cut: z.boolean().describe('There is more'),
  }),
  annotations: { readOnlyHint: true },
  async run({ run_id, refused }, context) {
    const { services, caller } = context;
    const run = await runOf(context, run_id);
    const sandbox = await findSandbox(services, caller, run.sandboxId, { agents: true });
    const all = (await networkAttempts(services, sandbox.id)).filter(
      ({ decision }) => !refused || decision !== 'allowed',
    );
    const waiting = (await networkRequests(services, run)).map(toWaitingHost);
    const whole = { ...toNetworkDto(sandbox), attempts: all, waiting };
    const shown = {
      allow: fitting(whole.allow, MAX_JSON_CHARS),
      deny: fitting(whole.deny, MAX_JSON_CHARS),
      secrets: fitting(whole.secrets, MAX_JSON_CHARS),
      attempts: fitting(all.slice(0, MAX_SHOWN), MAX_JSON_CHARS),
      waiting: fitting(waiting.slice(0, MAX_SHOWN), MAX_JSON_CHARS),
    };
    const isCut = Object.entries(shown).some(
      ([name, list]) => list.length < whole[name as keyof typeof shown].length,
    );
    const { attempts, waiting: asked, ...policy } = { ...whole, ...shown };
    const lines = attempts.map(
      ({ at, host, port, decision, rule }) => `${at} ${host}:${port} ${decision} (${rule})`,
    );
    lines.push(
      ...asked.map(
        ({ host, port, request_id }) => `${host}:${port} waits for the owner (request ${request_id})`,
      ),
    );
    if (isCut) lines.push('… and more');
    return {
      data: { ...policy, attempts, waiting: asked, is_cut: isCut },
      text: [`Network: ${JSON.stringify(policy)}`, ...lines].join('\n'),
    };
  },
});
