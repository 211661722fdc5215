import { ApiObject } from 'cdk8s';
import { Construct } from 'constructs';
import {
  certificateManifests,
  gatewayManifest,
  LISTENERS,
  type PreviewGatewayProps,
} from './gateway-manifests.ts';
import { HOSTNAME } from './preview-objects.ts';

/**
 * The Gateway in front of previews, with the certificates of its listeners where an issuer is
 * named. A `Preview` takes it as its `gateway`.
 */
export class PreviewGateway extends Construct {
  readonly gateway: ApiObject;
  readonly certificates: readonly ApiObject[];
  readonly name: string;
  readonly namespace: string;
  /** The listener that previews attach to. */
  readonly sectionName = LISTENERS.previews;

  /** @throws Error that names the property with the invalid value */
  constructor(scope: Construct, id: string, props: PreviewGatewayProps) {
    super(scope, id);
    const { name, namespace, zone, routesFrom, api, port = 443 } = props;
    const hosts = { zone, ...(api !== undefined && { 'api.host': api.host }) };
    for (const [property, value] of Object.entries(hosts)) {
      if (!HOSTNAME.test(value)) {
        throw new Error(`PreviewGateway.${property} must be a lower-case DNS name, got "${value}".`);
      }
    }
    if (api !== undefined && (api.host === zone || api.host.endsWith(`.${zone}`))) {
      throw new Error(
        `PreviewGateway.api.host (${api.host}) must not be in the zone ${zone}: the wildcard certificate and the cookies of previews would cover it.`,
      );
    }
    const from = { routesFrom, ...(api !== undefined && { 'api.routesFrom': api.routesFrom }) };
    for (const [property, namespaces] of Object.entries(from)) {
      if (namespaces.length === 0) throw new Error(`PreviewGateway.${property} must name a namespace.`);
    }
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new Error(`PreviewGateway.port must be an integer between 1 and 65535, got ${port}.`);
    }
    this.name = name;
    this.namespace = namespace;
    this.certificates = certificateManifests(props).map(
      (manifest) => new ApiObject(this, `certificate-${manifest.metadata.name}`, manifest),
    );
    this.gateway = new ApiObject(this, 'gateway', gatewayManifest(props));
  }
}
