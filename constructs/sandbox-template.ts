import { ApiObject } from 'cdk8s';
import { Construct } from 'constructs';
import {
  sandboxTemplateManifest,
  type SandboxTemplateProps,
  TEMPLATE_SIZE,
  warmPoolManifest,
  type WarmPoolProps,
} from './agent-sandbox-manifests.ts';

const QUANTITY = /^(\d+(?:\.\d+)?)(?:m|k|M|G|T|Ki|Mi|Gi|Ti)?$/;

/**
 * A SandboxTemplate of agent-sandbox: its pods run the guest as an ordinary user without
 * capabilities or a service account's token, within limits. Claims cannot add to them.
 */
export class SandboxTemplate extends Construct {
  readonly template: ApiObject;

  /** @throws Error that names the property with the invalid value */
  constructor(scope: Construct, id: string, props: SandboxTemplateProps) {
    super(scope, id);
    for (const property of ['image', 'guestKeys'] as const) {
      if (props[property].trim() === '') throw new Error(`SandboxTemplate.${property} must not be empty.`);
    }
    for (const [property, byDefault] of Object.entries(TEMPLATE_SIZE)) {
      const value = props[property as keyof typeof TEMPLATE_SIZE] ?? byDefault;
      if (!(Number(QUANTITY.exec(value)?.[1]) > 0)) {
        throw new Error(
          `SandboxTemplate.${property} must be a Kubernetes quantity above 0, e.g. 500m or 1Gi, got "${value}".`,
        );
      }
    }
    this.template = new ApiObject(this, 'template', sandboxTemplateManifest(props));
  }
}

/** A SandboxWarmPool: sandboxes of a template that wait for claims. */
export class WarmPool extends Construct {
  readonly pool: ApiObject;
  readonly replicas: number;

  /** @throws Error that names the property with the invalid value */
  constructor(scope: Construct, id: string, props: WarmPoolProps) {
    super(scope, id);
    const manifest = warmPoolManifest(props);
    this.replicas = manifest.spec.replicas;
    if (props.template.trim() === '') throw new Error('WarmPool.template must name a SandboxTemplate.');
    if (!Number.isSafeInteger(this.replicas) || this.replicas < 0) {
      throw new Error(`WarmPool.replicas must be a whole number of 0 or more, got ${this.replicas}.`);
    }
    this.pool = new ApiObject(this, 'pool', manifest);
  }
}
