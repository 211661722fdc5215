import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import {
  type Examination,
  examineGateway,
  type ExaminationOptions,
} from '#adapters/kubernetes/gateway-doctor/examine-gateway.ts';
import { ExaminationError, type Finding } from '#adapters/kubernetes/gateway-doctor/finding.ts';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';
import { kubeconfigAccess } from '#adapters/kubernetes/client/kubeconfig-access.ts';
import { createKubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';
import { isReason, KubernetesError } from '#adapters/kubernetes/client/kubernetes-error.ts';
import { plainText } from '#base/plain-text.ts';

const USAGE = `usage: porthole doctor --gateway [options]

Checks what Porthole needs of a cluster's Gateway: it makes a pod, a Service and the route of a
preview, sends requests to them through the gateway, and removes them. Exit code 0 if nothing is
missing, 1 if something is, or if it could not be checked.

  --context NAME            context of the kubeconfig; default its current one
  --namespace NAME          namespace of the functions, where the pod runs; default porthole
  --gateway-name NAME       default that of the installation, else agentweaver-preview-gateway
  --gateway-namespace NAME  default that of the installation, else agentweaver
  --listener NAME           default that of the installation, else HTTPS with a wildcard
  --zone DOMAIN             default that of the installation, else the listener's wildcard
  --address HOST[:PORT]     where this machine reaches the gateway; default the Gateway's address
  --ca FILE                 PEM of the authority of the gateway's certificate; default those of Node
  --image IMAGE             an image with Node for the pod; default that of the functions
  --wait TIME               how long the gateway may take to serve the route; default 15s
  --hold TIME               how long an answer stays silent, up to 2h; default 35s
  --json                    print JSON
`;

const TEXT = { type: 'string' } as const;
const FLAG = { type: 'boolean' } as const;
const OPTIONS = {
  gateway: FLAG,
  json: FLAG,
  help: { ...FLAG, short: 'h' },
  context: TEXT,
  namespace: TEXT,
  'gateway-name': TEXT,
  'gateway-namespace': TEXT,
  listener: TEXT,
  zone: TEXT,
  address: TEXT,
  ca: TEXT,
  image: TEXT,
  wait: TEXT,
  hold: TEXT,
};
const SECONDS = { s: 1, m: 60, h: 3_600 } as const;
const CALL_MS = 10_000;
const MAX_TEXT = 2_000;

class UsageError extends Error {}

/** `porthole doctor --gateway`, with the kubeconfig of this machine. */
export async function operate([, ...words]: readonly string[]): Promise<void> {
  const isJson = words.includes('--json');
  const end = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      // A second signal skips the removal.
      if (end.signal.aborted) process.exit(130);
      end.abort(new Error(`ended by ${signal}`));
    });
  }
  try {
    const values = parse(words);
    if (values.help) return void process.stdout.write(USAGE);
    const examination = await examine(values, end.signal);
    process.stdout.write(isJson ? `${JSON.stringify(asJson(examination))}\n` : asText(examination));
    process.exitCode = examination.features.every(({ ok }) => ok) ? 0 : 1;
  } catch (error) {
    const message = explain(error);
    const isLeft = error instanceof ExaminationError;
    if (!end.signal.aborted || isLeft) {
      const line = isJson ? JSON.stringify({ error: message }) : `porthole: ${plainText(message, MAX_TEXT)}`;
      process.stderr.write(`${line}\n`);
    }
    process.exitCode = end.signal.aborted ? 130 : error instanceof UsageError ? 2 : 1;
  }
}

type Values = ReturnType<typeof parse>;

function parse(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], options: OPTIONS }).values;
  } catch (error) {
    const [what = ''] = (error as Error).message.split('. ');
    throw new UsageError(`${what.replace(/\.$/, '')}. See porthole doctor --gateway --help`);
  }
}

async function examine(values: Values, signal: AbortSignal): Promise<Examination> {
  const options = await optionsOf(values);
  const access = await readAccess(values.context);
  const client = createKubernetesClient({ access, tryTimeoutMs: CALL_MS, callTimeoutMs: CALL_MS });
  try {
    return await examineGateway(client, options, signal);
  } catch (error) {
    throw isReason(error, 'NoAnswer', 'Unauthorized', 'Forbidden') ? ofCluster(error, access) : error;
  } finally {
    client.close();
  }
}

async function optionsOf(values: Values): Promise<ExaminationOptions> {
  const { namespace = 'porthole', listener, zone, image, ca } = values;
  return {
    namespace,
    listener,
    zone,
    image,
    gatewayName: values['gateway-name'],
    gatewayNamespace: values['gateway-namespace'],
    address: values.address === undefined ? undefined : readAddress(values.address),
    ca: ca === undefined ? undefined : await readAuthority(ca),
    holdMs: readTime('hold', values.hold ?? '35s'),
    waitMs: readTime('wait', values.wait ?? '15s'),
  };
}

async function readAuthority(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: Error) => {
    throw new ExaminationError(`--ca cannot be read (${cause.message}): name a PEM file.`, { cause });
  });
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  throw new ExaminationError(`--ca holds no certificate: ${file} must be a PEM file.`);
}

function readAddress(text: string): { host: string; port: number | undefined } {
  const [, host = '', port] = /^(\[[0-9a-fA-F:.]+\]|[^:/\s]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (host === '') throw new UsageError(`--address must be HOST[:PORT], got ${JSON.stringify(text)}.`);
  return { host: host.replaceAll(/[[\]]/g, ''), port: port === undefined ? undefined : Number(port) };
}

function readTime(option: string, text: string): number {
  const [, number, unit = 's'] = /^(\d{1,4})([smh])?$/.exec(text) ?? [];
  const ms = Number(number) * SECONDS[unit as keyof typeof SECONDS] * 1_000;
  if (ms > 0 && ms <= 2 * 3_600_000) return ms;
  throw new UsageError(`--${option} must be a time up to 2h, such as 35s, got ${JSON.stringify(text)}.`);
}

async function readAccess(context: string | undefined): Promise<ClusterAccess> {
  try {
    return await kubeconfigAccess(process.env, context);
  } catch (error) {
    const { code, path, message } = error as NodeJS.ErrnoException;
    const what = code === 'ENOENT' ? `There is no file ${path}.` : message;
    throw new ExaminationError(
      `${what} Set KUBECONFIG to your kubeconfig file, and --context to one of it.`,
      {
        cause: error,
      },
    );
  }
}

/** The API server does not answer, or refuses this user. */
function ofCluster(error: KubernetesError, { server }: ClusterAccess): ExaminationError {
  return new ExaminationError(
    `The API server ${server} does not serve you (${error.message}): check KUBECONFIG, --context and your rights.`,
    { cause: error },
  );
}

function explain(error: unknown): string {
  const isExpected =
    error instanceof ExaminationError || error instanceof UsageError || error instanceof KubernetesError;
  if (isExpected) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function asJson({ features, ...rest }: Examination): object {
  return { ...rest, ok: features.every(({ ok }) => ok), features };
}

function asText({ gateway, class: className, features }: Examination): string {
  return [`Gateway ${gateway} of class ${className}`, ...features.map(lineOf), ''].join('\n');
}

function lineOf({ feature, ok, detail, change }: Finding): string {
  const end = change === undefined ? '' : `. To change: ${change}`;
  return `${ok ? 'ok     ' : 'missing'}  ${feature.padEnd(11)}  ${plainText(detail + end, MAX_TEXT)}`;
}
