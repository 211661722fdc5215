import type { PreviewPlane } from '../ports/preview-plane.ts';
import type { SandboxEventPublisher } from './sandbox-event-publisher.ts';

/** A plane that tells whoever follows a sandbox of the previews that are opened of it: their ports, and never where they are. */
export function publishingPlane(
  plane: PreviewPlane,
  { publish }: Pick<SandboxEventPublisher, 'publish'>,
): PreviewPlane {
  return {
    ...plane,
    async open(preview, signal) {
      const opened = await plane.open(preview, signal);
      if (opened.created) {
        publish(preview.sandboxId, 'preview_opened', {
          target_port: preview.targetPort,
          run_id: preview.runId,
        });
      }
      return opened;
    },
  };
}
