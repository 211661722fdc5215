/**
 * An app and a preview of it in one chart, and in another what holds the previews of its namespace
 * to a range of ports: `cdk8s synth` writes both charts into `dist`.
 */
import { App, Chart, Size } from 'cdk8s';
import * as kplus from 'cdk8s-plus-28';
import { PortRangePolicy, Preview } from '../../constructs/index.ts';

const {
  IMAGE = 'busybox:1.37',
  NAMESPACE = 'hello',
  GATEWAY = 'porthole-gateway/porthole',
  GATEWAY_PODS = 'traefik/traefik',
  PREVIEW_HOST,
} = process.env;
if (PREVIEW_HOST === undefined) throw new Error('PREVIEW_HOST is not set: {token}-preview.{zone}');
const [gatewayNamespace = '', gatewayName = ''] = GATEWAY.split('/');
const [podNamespace = '', podName = ''] = GATEWAY_PODS.split('/');

const app = new App();
const chart = new Chart(app, 'hello', { namespace: NAMESPACE, disableResourceNameHashes: true });
const labels = { 'app.kubernetes.io/name': 'hello' };

new kplus.Deployment(chart, 'app', {
  metadata: { name: 'hello' },
  replicas: 1,
  select: false,
  podMetadata: { labels },
  containers: [
    {
      image: IMAGE,
      imagePullPolicy: kplus.ImagePullPolicy.IF_NOT_PRESENT,
      command: [
        'sh',
        '-c',
        `echo 'Hello through the porthole' > /www/index.html && exec httpd -f -p 3000 -h /www`,
      ],
      portNumber: 3000,
      securityContext: { user: 1000, group: 1000 },
      resources: {
        cpu: { request: kplus.Cpu.millis(10), limit: kplus.Cpu.millis(100) },
        memory: { request: Size.mebibytes(16), limit: Size.mebibytes(16) },
      },
      volumeMounts: [{ path: '/www', volume: kplus.Volume.fromEmptyDir(chart, 'www', 'www') }],
    },
  ],
}).select(kplus.LabelSelector.of({ labels }));

export const preview = new Preview(chart, 'preview', {
  name: 'preview-hello',
  namespace: NAMESPACE,
  gateway: { name: gatewayName, namespace: gatewayNamespace },
  hostname: PREVIEW_HOST,
  selector: labels,
  targetPort: 3000,
  upstream: 'direct',
  runId: 'hello',
  owner: 'platform',
  sandboxId: 'hello',
  startedAt: new Date('2026-01-01'),
  expiresAt: new Date('2027-01-01'),
  maxUntil: new Date('2027-01-01'),
});

// Applied before the app: an admission policy does not check Services that exist already.
const limits = new Chart(app, 'limits', { disableResourceNameHashes: true });
export const ports = new PortRangePolicy(limits, 'ports', {
  name: `${NAMESPACE}-preview-ports`,
  namespace: NAMESPACE,
  minPort: 3000,
  maxPort: 3999,
  pods: labels,
  gatewayPods: { namespace: podNamespace, labels: { 'app.kubernetes.io/name': podName } },
});

app.synth();
