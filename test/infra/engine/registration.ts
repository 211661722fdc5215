import type { RegisterResourceRequest } from '@pulumi/pulumi/proto/resource_pb.js';
import { decode, type Properties } from './wire-values.ts';

/** The registration of a resource by a program. */
export interface Registration {
  readonly urn: string;
  readonly type: string;
  readonly name: string;
  /** URN; empty for the stack itself. */
  readonly parent: string;
  /** False for a component, which has no resource in the cloud. */
  readonly custom: boolean;
  readonly inputs: Properties;
  /** URNs of all its dependencies. */
  readonly dependencies: readonly string[];
  /** URN and id of the provider, `urn::id`; empty for the default one. */
  readonly provider: string;
  readonly ignoreChanges: readonly string[];
  /** Undefined if the program leaves it to the provider. */
  readonly deleteBeforeReplace: boolean | undefined;
  readonly protect: boolean;
  readonly additionalSecretOutputs: readonly string[];
}

export function readRegistration(
  request: RegisterResourceRequest,
  deployment: { readonly project: string; readonly stack: string },
): Registration {
  const type = request.getType();
  const name = request.getName();
  const parent = request.getParent();
  return {
    urn: urn(deployment, parent, type, name),
    type,
    name,
    parent,
    custom: request.getCustom(),
    inputs: decode(request.getObject()),
    dependencies: request.getDependenciesList(),
    provider: request.getProvider(),
    ignoreChanges: request.getIgnorechangesList(),
    deleteBeforeReplace: request.getDeletebeforereplacedefined()
      ? request.getDeletebeforereplace()
      : undefined,
    protect: request.getProtect() ?? false,
    additionalSecretOutputs: request.getAdditionalsecretoutputsList(),
  };
}

/**
 * `urn:pulumi:{stack}::{project}::{types of the parents}${type}::{name}`; the stack is not part of
 * the types.
 */
function urn(
  { project, stack }: { readonly project: string; readonly stack: string },
  parent: string,
  type: string,
  name: string,
): string {
  const parentTypes = parent.split('::')[2] ?? '';
  const isNested = parentTypes !== '' && parentTypes !== 'pulumi:pulumi:Stack';
  return `urn:pulumi:${stack}::${project}::${isNested ? `${parentTypes}$` : ''}${type}::${name}`;
}
