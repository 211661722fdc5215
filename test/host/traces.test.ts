/** One trace, from a client's call through the function and the guest into the app of a preview. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { Porthole } from '../../client/index.ts';
import { fetchRaw } from '#test/proxy/gateway-fixture.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { useVariables } from '#test/support/use-variables.ts';
import { type OtlpCollector, type ReceivedSpan, startCollector } from './support/otlp-collector.ts';
import { approvalsAsked, askForPreview, decide } from './support/approvals.ts';
import { type MadeRun, makeRun } from './support/runs.ts';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const CLIENT_SPAN = '00f067aa0ba902b7';
const TRACEPARENT = `00-${TRACE_ID}-${CLIENT_SPAN}-01`;
const KEY = 'a-service-key-of-32-characters-00';
const CREDENTIAL = 'collector-credential-0001';

/** Commands that the tests run before the one of the metrics. */
const COMMANDS = 3;

/** Answers with the headers it got. */
const ECHO = `require('http').createServer((req, res) => res.end(JSON.stringify(req.headers)))
  .listen(Number(process.argv[1]), '127.0.0.1')`;

describe('with a collector', () => {
  let collector: OtlpCollector;
  let porthole: TestHost;
  let run: MadeRun;
  let reset: () => void;

  beforeAll(async () => {
    collector = await startCollector();
    const variables = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${CREDENTIAL}`,
      OTEL_SERVICE_NAME: 'previews',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_METRIC_EXPORT_INTERVAL: '1000',
    };
    reset = useVariables(variables);
    porthole = await startTestHost({ ...variables, SANDBOX_API_KEY: KEY, PORTHOLE_PREVIEW_TRACES: 'true' });
    run = await makeRun(porthole, KEY, { auto_approve_tools: true });
  });
  afterAll(async () => {
    await porthole.end();
    collector.close();
    reset();
  });

  const child = (name: string, of: ReceivedSpan) =>
    collector.span((span) => span.name === name && span.parentSpanId === of.spanId);

  test('follows a call of the client into the process that it starts', async () => {
    const client = new Porthole({
      url: porthole.host.url,
      apiKey: KEY,
      fetch(url, init) {
        const headers = new Headers(init?.headers);
        headers.set('traceparent', TRACEPARENT);
        return fetch(url, { ...init, headers });
      },
    });
    const sandbox = await client.sandboxes.get(run.sandboxId);
    const stdout = await sandbox.exec(['sh', '-c', 'printf %s "$TRACEPARENT" # a-private-word']).text();

    const server = await collector.span(({ name }) => name === 'POST /v1/sandbox/{id}/exec');
    expect(server).toMatchObject({
      traceId: TRACE_ID,
      parentSpanId: CLIENT_SPAN,
      kind: 2,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/v1/sandbox/{id}/exec',
        'http.response.status_code': 200,
      },
    });
    const exec = await child('sandbox.exec', server);
    const guest = await child('guest.exec', exec);
    expect(stdout).toBe(`00-${TRACE_ID}-${guest.spanId}-01`);
    expect(exec.attributes['porthole.sandbox.id']).toBe(run.sandboxId);
  });

  test('has spans of what a request does: files, the database, a sandbox, a process', async () => {
    const headers = { traceparent: TRACEPARENT };
    const body = 'text';
    await porthole.call('PUT', `/v1/sandbox/${run.sandboxId}/file/workspace/private-name`, {
      token: KEY,
      headers,
      body,
    });
    await collector.span(({ name }) => name === 'sandbox.file files');
    const made = await porthole.call('POST', '/v1/sandbox', { token: KEY, headers, body: {} });
    const { id } = made.json<{ id: string }>();
    const create = await collector.span(({ name }) => name === 'sandbox.create');
    const insert = await child('INSERT sandboxes', create);
    expect(insert).toMatchObject({
      kind: 3,
      attributes: {
        'db.system.name': 'sqlite',
        'db.operation.name': 'INSERT',
        'db.collection.name': 'sandboxes',
      },
    });
    expect(BigInt(insert.endTimeUnixNano) - BigInt(insert.startTimeUnixNano)).toBeGreaterThan(0n);
    await porthole.call('POST', `/v1/sandbox/${id}/stop`, { token: KEY, headers });
    await porthole.call('POST', `/v1/sandbox/${id}/resume`, { token: KEY, headers });
    await collector.span((span) => span.name === 'sandbox.resume' && span.traceId === TRACE_ID);
    const started = await porthole.call('POST', `/v1/sandbox/${id}/processes`, {
      token: KEY,
      headers,
      body: { argv: ['printenv', 'TRACEPARENT'] },
    });
    const process = started.json<{ id: string }>().id;
    const guest = await collector.span(
      (span) => span.name === 'guest.processes' && span.attributes['http.request.method'] === 'POST',
    );
    const output = await porthole.call('GET', `/v1/sandbox/${id}/processes/${process}/output?follow=true`, {
      token: KEY,
    });
    expect(output.text).toContain(Buffer.from(`00-${TRACE_ID}-${guest.spanId}-01\n`).toString('base64'));
  });

  test('records nothing of a trace that its client does not sample, and passes it on', async () => {
    const unsampled = '0af7651916cd43dd8448eb211c80319c';
    const exec = (trace: string) =>
      porthole.call('POST', `/v1/sandbox/${run.sandboxId}/exec`, {
        token: KEY,
        headers: { traceparent: trace },
        body: { argv: ['printenv', 'TRACEPARENT'] },
      });
    const output = (await exec(`00-${unsampled}-${CLIENT_SPAN}-00`)).text;
    const [printed = ''] = [...output.matchAll(/^data: ([\w+/=]{20,})$/gm)].map(([, data = '']) => data);
    expect(Buffer.from(printed, 'base64').toString()).toMatch(
      new RegExp(`^00-${unsampled}-[0-9a-f]{16}-00\n$`),
    );
    const sampled = '1af7651916cd43dd8448eb211c80319c';
    await exec(`00-${sampled}-${CLIENT_SPAN}-01`);
    // Spans arrive in the order of their ends.
    await collector.span(({ traceId, name }) => traceId === sampled && name.startsWith('POST '));
    expect(collector.spans().filter(({ traceId }) => traceId === unsampled)).toEqual([]);
  });

  test('gives the app of a preview the trace of the visitor, with the span of the proxy as parent', async () => {
    const declared = { argv: ['node', '-e', ECHO, '3400'], port: 3400 };
    await porthole.call('PUT', `/v1/sandbox/${run.sandboxId}/servers/web`, { token: KEY, body: declared });
    const started = await porthole.call('POST', `/api/runs/${run.runId}/sandbox/port-forward`, {
      token: KEY,
      headers: { traceparent: TRACEPARENT },
      body: { target_port: 3400 },
    });
    const url = new URL(started.json<{ preview_url: string }>().preview_url);
    const opened = await collector.span(({ name }) => name === 'preview.start');
    expect(opened.attributes).toMatchObject({ 'porthole.preview.port': expect.anything() });
    await collector.span(({ name }) => name === 'preview.readiness');

    const sent = { traceparent: TRACEPARENT, tracestate: 'vendor=1' };
    const answer = await fetchRaw(Number(url.port), url.host, '/private-path?token=private-query', sent);
    const span = await collector.span(({ name }) => name === 'GET preview');
    expect(span).toMatchObject({ traceId: TRACE_ID, parentSpanId: CLIENT_SPAN, kind: 2 });
    expect(JSON.parse(answer.body)).toMatchObject({
      traceparent: `00-${TRACE_ID}-${span.spanId}-01`,
      tracestate: 'vendor=1',
    });
    const text = collector.requests.map(({ body }) => body.toString()).join('\n');
    const secrets = [
      KEY,
      url.host.split('.')[0] ?? '',
      'a-private-word',
      'private-name',
      'private-path',
      'private-query',
    ];
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
  });

  test('has spans of a wait for a person, and of a look at a page', async () => {
    const { runId } = await makeRun(porthole, KEY);
    const asking = askForPreview(porthole, runId, KEY);
    const [asked] = await approvalsAsked(porthole, runId, { token: KEY });
    await decide(porthole, runId, { request_id: asked?.data['request_id'], decision: 'approve' }, KEY);
    expect((await asking).status).toBe(200);
    const wait = await collector.span(({ name }) => name === 'approval.wait');
    expect(wait.attributes).toEqual({ 'porthole.run.id': runId, 'porthole.tool': 'start_preview' });
    await porthole.call('POST', `/api/runs/${runId}/previews/3000/look`, { token: KEY, body: {} });
    const look = await collector.span(({ name }) => name === 'preview.look');
    expect(look.attributes).toMatchObject({ 'porthole.run.id': runId });
    expect((await collector.span(({ spanId }) => spanId === look.parentSpanId)).name).toBe(
      'POST /api/runs/{id}/previews/{port}/look',
    );
  });

  test('begins a trace where the client has none, and counts its error as no error of the server', async () => {
    expect((await porthole.call('GET', '/api/runs/no-such-run', { token: KEY })).status).toBe(404);
    const span = await collector.span(({ name }) => name === 'GET /api/runs/{id}');
    expect(span).toMatchObject({ attributes: { 'http.response.status_code': 404 } });
    expect(span.traceId).not.toBe(TRACE_ID);
    expect(span.parentSpanId ?? '').toBe('');
    // Of a server's span, an error of the client is none (HTTP semantic conventions).
    expect(span.status.code ?? 0).toBe(0);
  });

  test('writes the ids of the span into each line of the log', () => {
    const lines = porthole.logged.map((line) => JSON.parse(line) as Record<string, unknown>);
    const server = collector.spans().find(({ name }) => name === 'POST /v1/sandbox/{id}/exec');
    const operation = server?.attributes['porthole.operation'];
    expect(lines.find((line) => line['msg'] === 'request' && line['operation'] === operation)).toMatchObject({
      trace_id: TRACE_ID,
      span_id: server?.spanId,
    });
  });

  test('sends the metrics of a scrape under the same names, with the same values', async () => {
    const { text } = await porthole.call('GET', '/metrics', { token: KEY });
    const scraped = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name);
    const sentAfter = collector.requests.length;
    const sent = await collector.metrics(sentAfter);
    expect(sent.map(({ name }) => name).toSorted()).toEqual(scraped.toSorted());
    const count = /^porthole_http_requests_total\{operation="execCommand",status="200"\} (\d+)$/m.exec(text);
    expect(count?.[1]).toBe(String(COMMANDS));
    const requests = sent.find(({ name }) => name === 'porthole_http_requests_total');
    expect(requests?.sum).toMatchObject({
      isMonotonic: true,
      dataPoints: expect.arrayContaining([
        expect.objectContaining({
          attributes: { operation: 'execCommand', status: 200 },
          asDouble: COMMANDS,
        }),
      ]),
    });
    const duration = sent.find(({ name }) => name === 'porthole_http_request_duration_seconds');
    const exec = duration?.histogram?.dataPoints.find(
      ({ attributes }) => attributes['operation'] === 'execCommand',
    );
    expect(exec).toMatchObject({
      explicitBounds: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60],
      count: COMMANDS,
    });
    expect(exec?.bucketCounts?.map(Number).reduce((sum, each) => sum + each, 0)).toBe(COMMANDS);
  });

  test('has no ids in the labels of metrics', async () => {
    const { text } = await porthole.call('GET', '/metrics', { token: KEY });
    const labels = new Set([...text.matchAll(/[{,](\w+)="/g)].map(([, label]) => label));
    expect([...labels].filter((label) => /id$|run|sandbox|owner|user|path|url/i.test(label ?? ''))).toEqual(
      [],
    );
    const ids = [run.runId, run.sandboxId, run.sandboxId.slice(0, 12)];
    expect(ids.filter((id) => text.includes(id))).toEqual([]);
  });

  test('honours the variables of the SDK', () => {
    expect(collector.resource()).toMatchObject({
      'service.name': 'previews',
      'deployment.environment.name': 'test',
    });
    expect(collector.requests.every(({ headers }) => headers['authorization'] === CREDENTIAL)).toBe(true);
  });
});

test('serves as usual where the collector does not answer, and warns once', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  const variables = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_BSP_SCHEDULE_DELAY: '10',
    OTEL_EXPORTER_OTLP_TIMEOUT: '200',
  };
  const reset = useVariables(variables);
  const porthole = await startTestHost(variables);
  const warnings = () => porthole.logged.filter((line) => line.includes('telemetry is not exported'));
  try {
    for (let round = 0; round < 200 || warnings().length === 0; round += 1) {
      expect((await porthole.call('GET', '/health')).status).toBe(200);
    }
  } finally {
    const began = performance.now();
    await porthole.end();
    reset();
    expect(performance.now() - began).toBeLessThan(5_000);
  }
  expect(warnings()).toHaveLength(1);
});

test('names the protocols that it speaks', async () => {
  const variables = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4317',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
  };
  await expect(startTestHost(variables)).rejects.toThrow(
    'OTEL_EXPORTER_OTLP_PROTOCOL: grpc: must be http/protobuf or http/json',
  );
});
