import type { ResourceValidationPolicy } from '@pulumi/policy';
import { isConfigMap } from './kinds.ts';
import { sandboxSpecOf } from './pod-spec.ts';

interface Isolation {
  readonly runtimeClassName?: string | undefined;
  readonly hostUsers?: boolean | undefined;
}

export const sandboxIsolation: ResourceValidationPolicy = {
  name: 'sandbox-isolation',
  description: 'A sandbox is isolated as the configuration of this policy asks for.',
  remediationSteps: 'Set sandboxes.runtimeClassName, and sandboxes.hostUsers to false.',
  configSchema: {
    properties: {
      runtimeClass: { type: 'boolean', default: false, description: 'Whether it needs a RuntimeClass' },
      userNamespace: { type: 'boolean', default: false, description: 'Whether it needs a user namespace' },
    },
  },
  validateResource(args, report) {
    const isolation = isolationOf(args.type, args.props);
    if (isolation === undefined) return;
    const wanted = args.getConfig<{ runtimeClass?: boolean; userNamespace?: boolean }>();
    if (wanted.runtimeClass && !isolation.runtimeClassName) report('It has no RuntimeClass.');
    if (wanted.userNamespace && isolation.hostUsers !== false) report("It shares the node's user namespace.");
  },
};

/** Of a template, or of the pods that the functions make; undefined for everything else. */
function isolationOf(type: string, props: object): Isolation | undefined {
  if (!isConfigMap(type)) return sandboxSpecOf(type, props);
  const { data } = props as { data?: Readonly<Record<string, string>> };
  if (!['kubernetes', 'auto'].includes(data?.['PORTHOLE_PROVIDER'] ?? '')) return undefined;
  return {
    runtimeClassName: data?.['PORTHOLE_SANDBOX_RUNTIME_CLASS'],
    hostUsers: data?.['PORTHOLE_SANDBOX_HOST_USERS'] !== 'false',
  };
}
