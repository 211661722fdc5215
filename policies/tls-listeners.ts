import type { ResourceValidationPolicy } from '@pulumi/policy';
import { hasListeners } from './kinds.ts';

interface Listener {
  readonly name: string;
  readonly protocol?: string;
  readonly tls?: { readonly mode?: string; readonly certificateRefs?: readonly object[] };
}

export const tlsListeners: ResourceValidationPolicy = {
  name: 'tls-listeners',
  description:
    'Every listener of a Gateway or ListenerSet speaks HTTPS, with a certificate: the URL of a preview is its key.',
  remediationSteps: 'Use protocol HTTPS with tls.mode Terminate and a certificateRef.',
  validateResource({ type, props }, report) {
    if (!hasListeners(type)) return;
    const { spec } = props as { spec?: { listeners?: readonly Listener[] } };
    for (const { name, protocol, tls } of spec?.listeners ?? []) {
      if (protocol !== 'HTTPS') report(`Listener ${name} speaks ${protocol ?? 'nothing'}.`);
      else if ((tls?.mode ?? 'Terminate') !== 'Terminate' || (tls?.certificateRefs ?? []).length === 0) {
        report(`Listener ${name} has no certificate.`);
      }
    }
  },
};
