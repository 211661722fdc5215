import { z } from 'zod';
import { actorOn } from '#core/callers.ts';
import { diagnoseSandbox, type Diagnosis } from '#core/diagnosis/diagnose-sandbox.ts';
import type { Listener } from '#core/diagnosis/listeners.ts';
import { type CheckedPort, diagnosePages } from '#core/pages/check-preview.ts';
import { plainText } from '#base/plain-text.ts';
import { portText, queryFlag } from '../http/read-input.ts';
import { json } from '../route.ts';
import { defineRunRoute } from '../runs/run-routes.ts';
import type { Services } from '../services.ts';
import { PageResultDto, toPageResultDto } from '../pages/page-dto.ts';

const ListenerDto = z
  .object({
    port: z.number().int(),
    addresses: z.array(z.string()).describe('What the server is bound to, e.g. `127.0.0.1`, `0.0.0.0`, `::`'),
    process: z
      .object({ pid: z.number().int(), command: z.string() })
      .nullable()
      .describe('Who listens, if known'),
  })
  .meta({ id: 'Listener' });

const PortDiagnosisDto = z
  .object({
    port: z.number().int(),
    ready: z
      .boolean()
      .describe('Whether a preview of the port shows the app; with `check`, false for a broken page'),
    advice: z.string().describe('One sentence: the state, and what to do next'),
    listener: ListenerDto.nullable(),
    http: z
      .object({
        answer: z
          .enum(['answered', 'refused', 'silent', 'hung_up', 'tls', 'malformed'])
          .describe('The response to `GET /`'),
        status: z.number().int().nullable(),
        server: z.string().nullable().describe('Its `Server` header'),
        content_type: z.string().nullable(),
        title: z.string().nullable().describe("The page's title"),
      })
      .meta({ id: 'HttpFinding' }),
    framework: z.string().nullable().describe('A guess'),
    websocket: z
      .object({ upgrades: z.boolean(), status: z.number().int().nullable() })
      .nullable()
      .describe('A WebSocket handshake at the path of hot reload, or at `/`; null if HTTP fails'),
    page: PageResultDto.nullable().describe('What a browser sees at `/`, with `check` and a live preview'),
  })
  .meta({ id: 'PortDiagnosis' });

export const DiagnosisDto = z
  .object({
    sandbox: z.enum(['absent', 'creating', 'running', 'stopped']),
    advice: z.string().describe('One sentence: what to do first'),
    reached_by: z
      .enum(['loopback', 'address'])
      .describe(
        '`address`: a server must listen on more than loopback, e.g. on 0.0.0.0, for its preview to show it',
      ),
    page_checks: z.boolean().describe('Whether a browser for pages is installed'),
    allowed_port_min: z.number().int(),
    allowed_port_max: z.number().int(),
    listening: z.array(ListenerDto).nullable().describe('Null if the sandbox is stopped or cannot tell'),
    ports: z.array(PortDiagnosisDto).describe('The requested port, or all that listen'),
  })
  .meta({ id: 'Diagnosis' });

export function toDiagnosisDto(
  { sandbox, advice, listeners, ports }: Diagnosis & { readonly ports: readonly CheckedPort[] },
  {
    previewSettings: { allowedPortMin, allowedPortMax },
    plane,
    pages,
  }: Pick<Services, 'previewSettings' | 'plane' | 'pages'>,
): z.infer<typeof DiagnosisDto> {
  return {
    sandbox,
    advice,
    reached_by: plane.needsOpenAddress ? 'address' : 'loopback',
    page_checks: pages.isInstalled(),
    allowed_port_min: allowedPortMin,
    allowed_port_max: allowedPortMax,
    listening: listeners === undefined ? null : listeners.map(toListenerDto),
    ports: ports.map(toPortDto),
  };
}

function toListenerDto({ port, addresses, process }: Listener): z.infer<typeof ListenerDto> {
  return { port, addresses: [...addresses], process: process ?? null };
}

function toPortDto(found: CheckedPort): z.infer<typeof PortDiagnosisDto> {
  const { port, ready, advice, listener, http, framework, websocket, page } = found;
  const answer = http.kind === 'answered' ? http : undefined;
  const header = (name: string) => textOrNull(answer?.headers.get(name));
  return {
    port,
    ready,
    advice,
    listener: listener === undefined ? null : toListenerDto(listener),
    http: {
      answer: http.kind,
      status: answer?.status ?? null,
      server: header('server'),
      content_type: header('content-type'),
      title: textOrNull(titleOf(answer?.body ?? '')),
    },
    framework: framework?.name ?? null,
    websocket:
      websocket === undefined ? null : { upgrades: websocket.upgrades, status: websocket.status ?? null },
    page: page === undefined ? null : toPageResultDto(page),
  };
}

/** Most servers send UTF-8; other encodings are no worse off. */
function titleOf(latin1: string): string | undefined {
  const found = /<title[^>]{0,200}>([^<]{1,400})/i.exec(latin1)?.[1];
  return found === undefined ? undefined : Buffer.from(found, 'latin1').toString('utf8');
}

function textOrNull(text: string | undefined): string | null {
  const plain = plainText(text ?? '', 120);
  return plain === '' ? null : plain;
}

export const diagnoseRoute = defineRunRoute('diagnoseSandbox', 'GET', '/api/runs/{id}/sandbox/doctor', {
  shared: { run: 'view' },
  tag: 'Previews',
  summary: 'Find out why a preview does not show the app',
  description:
    'What listens in the sandbox, whether it answers HTTP and WebSockets, and one sentence of advice each. Asks the servers themselves, with a `GET /`; changes nothing.',
  agents: true,
  channel: true,
  query: z.object({
    port: portText.optional().describe('Default: every port that listens').meta({ example: '3000' }),
    check: queryFlag().describe(
      'Also open each live preview that answers, four at most, in a browser: takes seconds',
    ),
  }),
  responses: { 200: { description: 'What was found', schema: DiagnosisDto } },
  errors: ['sandbox_not_running', 'exec_transport_error'],
  async handle({ query, caller, signal }, run, services) {
    const asked = { run, port: query.port, by: actorOn(run, caller) };
    const diagnose = query.check ? diagnosePages : diagnoseSandbox;
    return json(200, toDiagnosisDto(await diagnose(services, asked, signal), services));
  },
});
