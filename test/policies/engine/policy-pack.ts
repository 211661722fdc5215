import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Client, ServiceError } from '@grpc/grpc-js';
import type { AnalyzeResponse } from '@pulumi/pulumi/proto/analyzer_pb.js';
import { AnalyzerClient, analyzers, grpc, StructMessage } from '../../pulumi/protocol.ts';
import type { Registration } from '../../pulumi/record-program.ts';
import { encode, type Properties } from '../../pulumi/wire-values.ts';
import { COMPILE_CACHE } from '#test/support/compile-cache.ts';

const PACK = join(import.meta.dirname, '../../../policies');
const LOADER = join(dirname(createRequire(import.meta.url).resolve('@pulumi/pulumi')), 'cmd/run-policy-pack');

/** The fields of a resource that a policy may read. */
export type Observed = Pick<Registration, 'urn' | 'type' | 'name' | 'inputs'>;

export interface Decision {
  readonly policy: string;
  readonly level: 'advisory' | 'mandatory';
  readonly message: string;
  readonly urn: string;
}

export interface PolicyPack {
  readonly policies: readonly string[];
  /** The violations of the policies of single resources for one, before it is created. */
  evaluate(resource: Observed): Promise<readonly Decision[]>;
  /** The violations of the policies of whole stacks for all resources, at the end. */
  evaluateStack(resources: readonly Observed[]): Promise<readonly Decision[]>;
  close(): Promise<void>;
}

type Call = (
  request: unknown,
  callback: (error: ServiceError | null, response: AnalyzeResponse) => void,
) => void;

/**
 * Starts the pack like Pulumi's command line: its loader runs in the pack's folder and prints the
 * port on its standard output.
 * @param disabled policies that the configuration of the pack turns off
 * @param settings of policies, by their names
 * @param folder of the pack
 */
export async function startPolicyPack(
  disabled: readonly string[] = [],
  settings: Readonly<Record<string, Properties>> = {},
  folder = PACK,
): Promise<PolicyPack> {
  const child = spawn(process.execPath, [LOADER, '127.0.0.1:0', '.'], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      ...COMPILE_CACHE,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  const first = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended]);
  const port = Number(first[0]);
  if (child.exitCode !== null || !Number.isInteger(port))
    throw new Error(`the pack did not start: ${first.join(' ')}`);
  const client = new AnalyzerClient(`127.0.0.1:${port}`, grpc.credentials.createInsecure());

  const call = async <Response>(method: string, request: unknown): Promise<Response> =>
    new Promise((resolve, reject) => {
      const send = (client as Client & Record<string, Call>)[method] as Call;
      send.call(client, request, (error, response) =>
        error === null ? resolve(response as Response) : reject(error),
      );
    });

  const config = new analyzers.ConfigureAnalyzerRequest();
  const { DISABLED, MANDATORY } = analyzers.EnforcementLevel;
  for (const name of [...disabled, ...Object.keys(settings)]) {
    config
      .getPolicyconfigMap()
      .set(
        name,
        new analyzers.PolicyConfig()
          .setEnforcementlevel(disabled.includes(name) ? DISABLED : MANDATORY)
          .setProperties(struct(settings[name] ?? {})),
      );
  }
  await call('configure', config);
  const info = await call<{ getPoliciesList(): { getName(): string }[] }>(
    'getAnalyzerInfo',
    new (
      AnalyzerClient.service['getAnalyzerInfo'] as unknown as { requestType: new () => unknown }
    ).requestType(),
  );

  return {
    policies: info.getPoliciesList().map((policy) => policy.getName()),
    async evaluate({ urn, type, name, inputs }) {
      const request = new analyzers.AnalyzeRequest()
        .setUrn(urn)
        .setType(type)
        .setName(name)
        .setProperties(struct(inputs))
        .setOptions(new analyzers.AnalyzerResourceOptions());
      return toDecisions(await call('analyze', request));
    },
    async evaluateStack(resources) {
      const request = new analyzers.AnalyzeStackRequest().setResourcesList(
        resources.map(({ urn, type, name, inputs }) =>
          new analyzers.AnalyzerResource()
            .setUrn(urn)
            .setType(type)
            .setName(name)
            .setProperties(struct(inputs))
            .setOptions(new analyzers.AnalyzerResourceOptions()),
        ),
      );
      return toDecisions(await call('analyzeStack', request));
    },
    async close() {
      client.close();
      child.kill();
      await ended;
    },
  };
}

const struct = (properties: Properties) => StructMessage.fromJavaScript(encode(properties));

function toDecisions(response: AnalyzeResponse): Decision[] {
  return response.getDiagnosticsList().map((diagnostic) => ({
    policy: diagnostic.getPolicyname(),
    level:
      diagnostic.getEnforcementlevel() === analyzers.EnforcementLevel.ADVISORY ? 'advisory' : 'mandatory',
    message: diagnostic.getMessage(),
    urn: diagnostic.getUrn(),
  }));
}
