import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { readStackConfig } from '../../infra/read-stack-config.ts';
import { deploymentPlan } from '../../infra/functions.ts';
import { DATABASE_URL, SERVICE_KEY, SIGNING_KEYS, stackFile, values } from '../infra/support/stack-files.ts';
import { type ProgramResult, recordProgram } from '../pulumi/record-program.ts';
import { Secret } from '../pulumi/wire-values.ts';

const EXAMPLES = join(import.meta.dirname, '../../examples');
const PATIENT = 180_000;
const ADDRESSES = {
  apiEndpoint: 'https://api.execute-api.example.com',
  functionUrl: 'https://url.lambda-url.example.com',
};
const KUBECONFIG = '{"users": [{"user": {"token": "a-cluster-token"}}]}';

describe('the example for AWS Lambda', () => {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-lambda-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  let up: ProgramResult;
  beforeAll(async () => {
    const listed = [
      { id: 'router', handler: 'router.handler' },
      { id: 'reaper', handler: 'scheduled.reaper', schedule: '* * * * *' },
      { id: 'snapshots-clean', handler: 'scheduled.snapshotsClean', schedule: '*/10 * * * *' },
    ];
    writeFileSync(join(folder, 'functions.json'), JSON.stringify(listed));
    writeFileSync(join(folder, 'router.mjs'), 'export const handler = () => undefined;');
    up = await recordProgram({
      project: 'porthole-lambda',
      stack: 'test',
      main: join(EXAMPLES, 'lambda/main.ts'),
      stackFile: {
        config: {
          'porthole-lambda:functions': folder,
          'porthole-lambda:environment': { PORTHOLE_PUBLIC_URL: 'https://porthole.example.com' },
          'porthole-lambda:subnetIds': ['subnet-1'],
          'porthole-lambda:securityGroupIds': ['sg-1'],
        },
        secrets: {
          'porthole-lambda:kubeconfig': KUBECONFIG,
          'porthole-lambda:databaseUrl': DATABASE_URL,
          'porthole-lambda:signingKeys': SIGNING_KEYS,
          'porthole-lambda:serviceKey': SERVICE_KEY,
        },
      },
      dryRun: false,
      register: ({ name, type, inputs }) => ({
        id: name,
        outputs: { ...inputs, name, arn: `arn:aws:${type}:${name}`, ...ADDRESSES },
      }),
    });
  }, PATIENT);

  const named = (type: string) =>
    Object.fromEntries(
      up.registrations.filter((each) => each.type === type).map(({ name, inputs }) => [name, inputs]),
    );

  test('runs to its end without a word', () => {
    expect([up.succeeded, up.output]).toEqual([true, '']);
    expect(up.outputs).toEqual({ apiUrl: ADDRESSES.apiEndpoint, streamUrl: ADDRESSES.functionUrl });
  });

  test('has one function for all routes, twice, and one for each schedule', () => {
    const functions = named('aws:lambda/function:Function');
    expect(Object.entries(functions).map(([name, { handler, timeout }]) => [name, handler, timeout])).toEqual(
      [
        ['porthole-router', 'router.handler', 30],
        ['porthole-stream', 'router.stream', 900],
        ['porthole-reaper', 'scheduled.reaper', 300],
        ['porthole-snapshots-clean', 'scheduled.snapshotsClean', 300],
      ],
    );
    for (const each of Object.values(functions)) expect(each).toMatchObject({ runtime: 'nodejs24.x' });
  });

  test('streams by the function URL and buffers behind the HTTP API', () => {
    expect(named('aws:lambda/functionUrl:FunctionUrl')['porthole']).toMatchObject({
      functionName: 'porthole-stream',
      invokeMode: 'RESPONSE_STREAM',
    });
    expect(named('aws:apigatewayv2/api:Api')['porthole']).toMatchObject({
      protocolType: 'HTTP',
      target: 'arn:aws:aws:lambda/function:Function:porthole-router',
    });
  });

  test('gives each schedule a rule in the words of AWS, and the permission to call its function', () => {
    const rules = named('aws:cloudwatch/eventRule:EventRule');
    expect(Object.entries(rules).map(([name, { scheduleExpression }]) => [name, scheduleExpression])).toEqual(
      [
        ['porthole-reaper', 'cron(* * * * ? *)'],
        ['porthole-snapshots-clean', 'cron(*/10 * * * ? *)'],
      ],
    );
    expect(Object.keys(named('aws:lambda/permission:Permission')).toSorted()).toEqual([
      'porthole-InvokeFunction',
      'porthole-InvokeFunctionUrl',
      'porthole-api',
      'porthole-reaper',
      'porthole-snapshots-clean',
    ]);
  });

  test('keeps the credentials secret', () => {
    const { environment, code } = named('aws:lambda/function:Function')['porthole-router'] ?? {};
    expect(code).toBeInstanceOf(Secret);
    const clear = JSON.stringify(environment, (_name, value: unknown) =>
      value instanceof Secret ? 'hidden' : value,
    );
    expect(clear).toContain('https://porthole.example.com');
    expect([DATABASE_URL, SERVICE_KEY, 'hunter2'].filter((each) => clear.includes(each))).toEqual([]);
  });
});

describe('the example for Knative', () => {
  const service = parse(readFileSync(join(EXAMPLES, 'knative/service.yaml'), 'utf8'));
  const { spec } = service.spec.template;
  const [container] = spec.containers;

  test('is a Service of Knative', () => {
    expect([service.apiVersion, service.kind]).toEqual(['serving.knative.dev/v1', 'Service']);
    // Fields that Knative allows in a revision, without feature flags.
    expect(Object.keys(spec).toSorted()).toEqual([
      'containerConcurrency',
      'containers',
      'responseStartTimeoutSeconds',
      'serviceAccountName',
      'timeoutSeconds',
      'volumes',
    ]);
  });

  test('runs the container of the stack', () => {
    const config = readStackConfig(values(stackFile()), () => true);
    const { metadata, spec: deployment } = deploymentPlan(config);
    const { template } = deployment;
    const [own] = template.spec.containers;
    expect(service.metadata).toEqual({ name: metadata.name, namespace: metadata.namespace });
    expect(spec.serviceAccountName).toBe(template.spec.serviceAccountName);
    expect(container.envFrom).toEqual(own?.envFrom);
    expect(container.volumeMounts).toEqual(own?.volumeMounts);
    expect(spec.volumes).toEqual(template.spec.volumes);
    expect(container.ports[0].containerPort).toBe(own?.ports[0]?.containerPort);
    expect(container.securityContext).toMatchObject(own?.securityContext ?? {});
    expect(container.readinessProbe.httpGet).toEqual({
      path: own?.readinessProbe.httpGet.path,
      httpHeaders: own?.readinessProbe.httpGet.httpHeaders,
    });
  });

  test('lets an agent wait for an approval', () => {
    const longest = 300;
    expect(spec.responseStartTimeoutSeconds).toBeGreaterThan(longest);
    expect(spec.timeoutSeconds).toBeGreaterThanOrEqual(spec.responseStartTimeoutSeconds);
  });
});
