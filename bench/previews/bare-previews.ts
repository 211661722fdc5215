import { collection, HTTP_ROUTES, PODS, SERVICES } from '#adapters/kubernetes/client/kubernetes-object.ts';
import {
  ANNOTATIONS,
  formatTime,
  LABELS,
  labelValue,
  PREVIEW_LABELS,
  selector,
  timeSlot,
} from '#constructs/names.ts';
import { previewManifests } from '#constructs/preview-objects.ts';
import { previewHost, previewName } from '#core/previews/preview-token.ts';
import type { BareApi } from './bare-api.ts';
import { POD_NAME, wantedPreview, ZONE } from './preview-fixture.ts';

/** The API calls of a start, a keepalive and a stop, alone. */
export interface BarePreviews {
  /** Prepares one start; the returned function makes its calls. */
  start(): () => Promise<string>;
  keepAlive(name: string): Promise<void>;
  stop(name: string): Promise<void>;
}

const MINUTE = 60_000;

export function barePreviews(api: BareApi, namespace: string): BarePreviews {
  const services = collection(SERVICES, namespace).path;
  const routes = collection(HTTP_ROUTES, namespace).path;
  const pods = collection(PODS, namespace).path;
  return {
    start() {
      const wanted = wantedPreview(new Date());
      const name = previewName(wanted.token);
      const runId = `run_${name}`;
      const manifests = previewManifests({
        ...wanted,
        name,
        namespace,
        gateway: { name: 'none', namespace },
        hostname: previewHost(wanted.token, ZONE),
        runId,
        owner: 'service',
        attempt: 'bare.0',
      });
      const serviceBody = JSON.stringify(manifests.service);
      // The only part of a response that a route uses always has the same length.
      const [head, tail] = JSON.stringify(manifests.route({ uid: '{uid}', resourceVersion: '1' })).split(
        '{uid}',
      );
      const ofRun = `${selector(PREVIEW_LABELS)},${LABELS.run}=${labelValue(runId)}`;
      return async () => {
        await api.call('GET', `${pods}/${POD_NAME}`);
        const made = await api.call('POST', services, serviceBody);
        const answer = made.toString();
        const uid = /"uid":\s*"([^"]+)"/.exec(answer)?.[1] ?? '';
        const version = /"resourceVersion":\s*"([^"]+)"/.exec(answer)?.[1] ?? '';
        await api.call('POST', routes, `${head}${uid}${tail}`);
        const query = new URLSearchParams({
          labelSelector: ofRun,
          resourceVersion: version,
          resourceVersionMatch: 'NotOlderThan',
        });
        await api.call('GET', `${services}?${query.toString()}`);
        await api.call('GET', `${routes}/${name}`);
        return name;
      };
    },
    async keepAlive(name) {
      const expiresAt = new Date(Date.now() + 30 * MINUTE);
      const change = {
        metadata: {
          annotations: { [ANNOTATIONS.expiresAt]: formatTime(expiresAt) },
          labels: { [LABELS.dueSlot]: timeSlot(expiresAt) },
        },
      };
      await api.call('PATCH', `${routes}/${name}`, JSON.stringify(change), 'application/merge-patch+json');
    },
    async stop(name) {
      await api.call('DELETE', `${routes}/${name}`);
      await api.call('DELETE', `${services}/${name}`);
    },
  };
}
