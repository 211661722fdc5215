import { json } from 'node:stream/consumers';
import { ROUTE_RESPONSE_HEADERS, UPSTREAM_HOST, UPSTREAM_ORIGIN } from '#constructs/names.ts';
import { askGateway, type GatewayTarget, publicHost, reasonOf } from './ask-gateway.ts';
import { type Finding, found, lacking } from './finding.ts';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** What a preview's route changes, in requests and answers. */
export async function checkHeaders(target: GatewayTarget, signal: AbortSignal): Promise<Finding> {
  const host = publicHost(target);
  const ask = async (headers: Record<string, string>) => {
    const answer = await askGateway(target, { path: '/headers', headers }, signal);
    return { answer: answer.headers, arrived: (await json(answer)) as Headers };
  };
  try {
    const own = await ask({ origin: `https://${host}`, 'x-forwarded-host': 'doctor.invalid' });
    const other = await ask({ 'x-forwarded-host': 'doctor.invalid' });
    return headersFinding(headerFaults({ host, own, other }));
  } catch (error) {
    return headersFinding([`no answer of the pod (${reasonOf(error)})`]);
  }
}

interface Exchanged {
  /** Headers of the answer, as they arrive here. */
  readonly answer: Headers;
  /** Headers of the request, as they arrive in the pod. */
  readonly arrived: Headers;
}

function headerFaults({ host, own, other }: { host: string; own: Exchanged; other: Exchanged }): string[] {
  const faults = {
    'the Host is not rewritten (URLRewrite, for preview.upstream: direct)':
      own.arrived['host'] !== UPSTREAM_HOST,
    'Origin is not set (RequestHeaderModifier)': own.arrived['origin'] !== UPSTREAM_ORIGIN,
    "a client's X-Forwarded-Host is not removed (RequestHeaderModifier)":
      own.arrived['x-forwarded-host'] === 'doctor.invalid',
    'X-Forwarded-Host is not set (RequestHeaderModifier)': other.arrived['x-forwarded-host'] !== host,
    'X-Forwarded-Proto is not set (RequestHeaderModifier)': other.arrived['x-forwarded-proto'] !== 'https',
    'headers of answers are not set (ResponseHeaderModifier)': Object.entries(ROUTE_RESPONSE_HEADERS).some(
      ([name, value]) => own.answer[name.toLowerCase()] !== value,
    ),
    'Clear-Site-Data is not removed from answers (ResponseHeaderModifier)':
      own.answer['clear-site-data'] !== undefined,
  };
  return Object.entries(faults).flatMap(([fault, is]) => (is ? [fault] : []));
}

function headersFinding(faults: readonly string[]): Finding {
  if (faults.length === 0) return found('headers', 'set, removed and rewritten in requests and answers');
  return lacking(
    'headers',
    faults.join('; '),
    'use a class that reports HTTPRouteHostRewrite and HTTPRouteResponseHeaderModification',
  );
}
