/**
 * Porthole's API on AWS Lambda: one function for all routes, behind an HTTP API that buffers and a
 * function URL that streams, and a function for each schedule. `docs/guides/functions.md` has the
 * steps.
 */
import * as aws from '@pulumi/aws';
import * as pulumi from '@pulumi/pulumi';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const config = new pulumi.Config();
/** Output of `npm run build`. */
const folder = config.get('functions') ?? join(import.meta.dirname, '../../dist/functions');
const functions = JSON.parse(readFileSync(join(folder, 'functions.json'), 'utf8')) as readonly {
  readonly id: string;
  readonly handler: string;
  readonly schedule?: string;
}[];

const role = new aws.iam.Role('porthole', {
  assumeRolePolicy: aws.iam.assumeRolePolicyForPrincipal({ Service: 'lambda.amazonaws.com' }),
});
const access = new aws.iam.RolePolicyAttachment('porthole', {
  role,
  policyArn: aws.iam.ManagedPolicy.AWSLambdaVPCAccessExecutionRole,
});
// In the package, because variables hold 4 KB.
const code = config.requireSecret('kubeconfig').apply(
  (kubeconfig) =>
    new pulumi.asset.AssetArchive({
      '.': new pulumi.asset.FileArchive(folder),
      'kubeconfig.json': new pulumi.asset.StringAsset(kubeconfig),
    }),
);
const variables = {
  ...config.requireObject<Record<string, string>>('environment'),
  DATABASE_URL: config.requireSecret('databaseUrl'),
  PORTHOLE_SIGNING_KEYS: config.requireSecret('signingKeys'),
  SANDBOX_API_KEY: config.requireSecret('serviceKey'),
  KUBECONFIG: '/var/task/kubeconfig.json',
};

function create(name: string, handler: string, timeout: number): aws.lambda.Function {
  return new aws.lambda.Function(
    `porthole-${name}`,
    {
      role: role.arn,
      runtime: 'nodejs24.x',
      architectures: ['arm64'],
      handler,
      code,
      memorySize: 1_024,
      timeout,
      environment: { variables },
      // They must reach the database and the API server of the cluster.
      vpcConfig: {
        subnetIds: config.requireObject<string[]>('subnetIds'),
        securityGroupIds: config.requireObject<string[]>('securityGroupIds'),
      },
    },
    { dependsOn: access },
  );
}

// API Gateway ends a request after 30 seconds.
const router = create('router', 'router.handler', 30);
const api = new aws.apigatewayv2.Api('porthole', { protocolType: 'HTTP', target: router.arn });
void new aws.lambda.Permission('porthole-api', {
  action: 'lambda:InvokeFunction',
  function: router,
  principal: 'apigateway.amazonaws.com',
  sourceArn: pulumi.interpolate`${api.executionArn}/*`,
});

// Streams end with their function, after at most 15 minutes; clients resume them.
const stream = create('stream', 'router.stream', 900);
const url = new aws.lambda.FunctionUrl('porthole', {
  functionName: stream.name,
  // Porthole authenticates callers itself.
  authorizationType: 'NONE',
  invokeMode: 'RESPONSE_STREAM',
});
for (const action of ['lambda:InvokeFunctionUrl', 'lambda:InvokeFunction']) {
  void new aws.lambda.Permission(`porthole-${action.slice('lambda:'.length)}`, {
    action,
    function: stream,
    principal: '*',
    ...(action === 'lambda:InvokeFunctionUrl'
      ? { functionUrlAuthType: 'NONE' }
      : { invokedViaFunctionUrl: true }),
  });
}

for (const { id, handler, schedule } of functions) {
  if (schedule === undefined) continue;
  const [minute, hour, day, month] = schedule.split(' ');
  const job = create(id, handler, 300);
  const rule = new aws.cloudwatch.EventRule(`porthole-${id}`, {
    // AWS has a year, and wants no day of the week beside a day of the month.
    scheduleExpression: `cron(${minute} ${hour} ${day} ${month} ? *)`,
  });
  void new aws.cloudwatch.EventTarget(`porthole-${id}`, { rule: rule.name, arn: job.arn });
  void new aws.lambda.Permission(`porthole-${id}`, {
    action: 'lambda:InvokeFunction',
    function: job,
    principal: 'events.amazonaws.com',
    sourceArn: rule.arn,
  });
}

export const apiUrl = api.apiEndpoint;
export const streamUrl = url.functionUrl;
