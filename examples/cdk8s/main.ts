/** An app and a preview of it in one chart: `cdk8s synth` writes both into `dist`. */
import { App, Chart } from 'cdk8s';
import * as kplus from 'cdk8s-plus-28';
import { Preview } from '../../constructs/index.ts';

const { IMAGE = 'python:3.13-slim', NAMESPACE = 'agentweaver', PREVIEW_HOST } = process.env;
if (PREVIEW_HOST === undefined) throw new Error('PREVIEW_HOST is not set: {token}-preview.{zone}');

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
      command: ['python3', '-m', 'http.server', '3000', '--directory', '/usr/share'],
      portNumber: 3000,
      securityContext: { user: 1000, group: 1000 },
    },
  ],
}).select(kplus.LabelSelector.of({ labels }));

export const preview = new Preview(chart, 'preview', {
  name: 'preview-hello',
  namespace: NAMESPACE,
  gateway: { name: 'porthole', namespace: 'porthole-gateway', sectionName: 'previews' },
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

app.synth();
