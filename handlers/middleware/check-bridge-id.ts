import { checkSandboxId } from '#core/rules/sandbox-id.ts';
import type { Step } from './step.ts';

/** `/v1/sandbox/{id}…` */
const ID_SEGMENT = 3;

/**
 * As the bridge does, the id in the URL is judged before the credential, as it stands there: percent-encoding is no way to write one.
 * @throws PortholeError `invalid_request`
 */
export function checkBridgeId(): Step {
  return {
    before: ({ event }) => {
      checkSandboxId(event.rawPath.split('/')[ID_SEGMENT] ?? '');
    },
  };
}
