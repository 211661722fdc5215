import { z } from 'zod';
import { actorOn } from '#core/callers.ts';
import { shareAgentPreview } from '#core/previews/share-agent-preview.ts';
import { portText } from '../http/read-input.ts';
import { json } from '../route.ts';
import { checkpointAtApproval } from '../sandboxes/checkpoint-triggers.ts';
import { defineRunRoute, RunPath } from '../runs/run-routes.ts';
import { CreatedLinkDto, LinkFields, toCreatedLinkDto } from './access-routes.ts';

export const shareAgentPreviewRoute = defineRunRoute(
  'shareAgentPreview',
  'POST',
  '/api/runs/{id}/previews/{port}/share',
  {
    tag: 'Previews',
    summary: 'Create a link to a preview on behalf of the agent',
    description:
      "For the run's owner or its own agent. Like a start it waits for the decision of a person, who is asked about the level of the link and whether it may start the preview. Send the same request again if the connection is lost: it returns the same link.",
    class: 'stream',
    agents: true,
    channel: true,
    params: RunPath.extend({
      port: portText.describe('The port of a live preview').meta({ example: '3000' }),
    }),
    body: z.strictObject(LinkFields).meta({ id: 'SharePreviewRequest', example: { label: 'for carol' } }),
    responses: { 201: { description: 'The link, with its URL', schema: CreatedLinkDto } },
    errors: [
      'preview_not_found',
      'run_ended',
      'quota_exceeded',
      'approval_denied',
      'approval_timed_out',
      'too_many_approvals',
    ],
    async handle({ params, body, caller, signal, headers }, run, services) {
      const { expires_in: expiresIn, max_uses: maxUses, may_wake: mayWake, ...asked } = body;
      const shared = await shareAgentPreview(
        services,
        { ...asked, expiresIn, maxUses, mayWake, run, targetPort: params.port, by: actorOn(run, caller) },
        { signal, onWaiting: () => checkpointAtApproval(services, run.sandboxId) },
      );
      return json(201, toCreatedLinkDto(services, shared, headers['host']), { 'cache-control': 'no-store' });
    },
  },
);
