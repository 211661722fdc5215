import { closestName } from '../base/closest-name.ts';
import { environmentProblems, variableFaults } from '../protocol/settings/read-environment.ts';
import { type Environment, EnvironmentSchema } from '../protocol/settings/environment-schema.ts';
import { isUnknown } from './placeholders.ts';
import type { StackConfig } from './stack-config-schema.ts';
import { archiveRows } from './archives.plan.ts';
import { CHANNEL_PORT, environmentPlan, secretRows, secretsPlan, settingRows } from './environment.plan.ts';
import { textOf } from './variable-rows.ts';

type Problem = readonly [key: string, problem: string];

/** Variables that the stack itself decides. */
const FIXED: Readonly<Record<string, string>> = { HOST: 'the stack, which listens on 0.0.0.0: remove it' };

/** A URL with a password. */
const PASSWORD = /[a-z][a-z0-9+.-]*:\/\/[^\s/?#@:]*:[^\s/?#@]+@/i;

/** Secret variables without a setting: go into the Secret, not into the ConfigMap. */
const SECRET_VARIABLES = [
  'AWS_SECRET_ACCESS_KEY',
  'R2_SECRET_ACCESS_KEY',
  'PORTHOLE_BUCKETS',
  'OTEL_EXPORTER_OTLP_HEADERS',
];

/** The setting of a variable; undefined if it is set in `environment`. */
export function settingOf(name: string, config: StackConfig): string | undefined {
  const rows = [...settingRows(config), ...secretRows(config), ...archiveRows(config)];
  return rows.find(([variable]) => variable === name)?.[1];
}

/** Problems of each variable in `environment` and `secretEnvironment` by itself. */
export function variableProblems(config: StackConfig): Problem[] {
  const { environment, secretEnvironment = {} } = config;
  return [
    ...Object.entries(environment).map((each) => ['environment', ...each] as const),
    ...Object.entries(secretEnvironment).map((each) => ['secretEnvironment', ...each] as const),
  ].flatMap(([group, name, value]): Problem[] => {
    const key = `${group}.${name}`;
    const setting = settingOf(name, config);
    if (!isVariable(name)) {
      const close = closestName(name, Object.keys(EnvironmentSchema.shape));
      const remedy = close === undefined ? 'npm run config lists them' : `did you mean ${close}?`;
      return [[key, `is not a variable of the functions; ${remedy}`]];
    }
    if (setting !== undefined) return [[key, `is decided by ${setting}: set that`]];
    if (FIXED[name] !== undefined) return [[key, `is decided by ${FIXED[name]}`]];
    const text = textOf(value);
    if (group === 'environment' && (SECRET_VARIABLES.includes(name) || PASSWORD.test(text))) {
      return [[key, 'holds secrets: set it in secretEnvironment']];
    }
    if (name === 'PORT' && takenPorts(config).includes(Number(text))) {
      return [[key, `${text} cannot be the port of the API: set another, e.g. 8787, or remove it`]];
    }
    return isUnknown(text)
      ? []
      : variableFaults(name, text).map((line) => [key, line.slice(line.indexOf(': ') + 2)] as const);
  });
}

/** A Service needs a known port, and the channel has its own. */
function takenPorts({ sandboxes }: StackConfig): number[] {
  return sandboxes.channel ? [0, CHANNEL_PORT] : [0];
}

/** Problems of all variables together that would keep the functions from starting. */
export function startProblems(config: StackConfig): Problem[] {
  const others =
    config.functions.existingSecret === undefined ? {} : { SANDBOX_API_KEY: 'of-others'.repeat(4) };
  const environment: Readonly<Record<string, string>> = {
    ...environmentPlan(config),
    ...secretsPlan(config),
    ...others,
  };
  return environmentProblems(environment).flatMap((line): Problem[] => {
    const [name = '', ...rest] = line.split(': ');
    if (isUnknown(environment[name] ?? '')) return [];
    const text = rest.join(': ');
    const setting = settingOf(name, config) ?? `environment.${name}`;
    const isSize = setting.startsWith('sandboxes.templates.');
    return [[setting, isSize ? `makes ${name} ${environment[name]}, which ${text}` : text]];
  });
}

function isVariable(name: string): name is keyof Environment {
  return name in EnvironmentSchema.shape;
}
