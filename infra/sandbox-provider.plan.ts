import { podSettings } from '../protocol/settings/environment-schema.ts';
import type { Row } from './variable-rows.ts';
import { amountOf } from '../base/quantity.ts';
import type { StackConfig } from './stack-config-schema.ts';

type Sandboxes = StackConfig['sandboxes'];

/**
 * What makes sandboxes: as asked for, else what is configured. Without a warm pool agent-sandbox
 * could make none.
 */
export function sandboxProvider(sandboxes: Sandboxes): 'kubernetes' | 'agent-sandbox' | 'auto' {
  const { provider, warmPool, warmPools } = sandboxes;
  const hasPool = warmPool !== undefined || Object.keys(warmPools).length > 0;
  return provider ?? (hasPool ? 'agent-sandbox' : 'kubernetes');
}

/** The pool for sandboxes without an image; undefined unless one is named or exactly one exists. */
export function defaultWarmPool({ warmPool, warmPools }: Sandboxes): string | undefined {
  const names = Object.keys(warmPools);
  return warmPool ?? (names.length === 1 ? names[0] : undefined);
}

/** Names of all pools that the functions may claim from, including pools managed elsewhere. */
export function warmPoolNames(sandboxes: Sandboxes): string[] {
  const byDefault = defaultWarmPool(sandboxes);
  return [...new Set([...Object.keys(sandboxes.warmPools), ...(byDefault === undefined ? [] : [byDefault])])];
}

/** The variables of sandboxes in the functions' environment. */
export function sandboxRows(sandboxes: Sandboxes): Row[] {
  const { pod, hostUsers, warmPoolTarget } = sandboxes;
  const byImage = warmPoolsByImage(sandboxes);
  return [
    ['PORTHOLE_PROVIDER', 'sandboxes.provider', sandboxProvider(sandboxes)],
    ['PORTHOLE_SANDBOX_IMAGE', 'sandboxes.image', sandboxes.image],
    ['PORTHOLE_IMAGES', 'sandboxes.images', catalogue(sandboxes)],
    ...sizeRows(sandboxes),
    ...podRows(sandboxes),
    ['PORTHOLE_SANDBOX_POD', 'sandboxes.pod', addsToPods(pod) ? pod : undefined],
    ['PORTHOLE_SANDBOX_HOST_USERS', 'sandboxes.hostUsers', hostUsers ? undefined : false],
    ['PORTHOLE_WARM_POOL', 'sandboxes.warmPool', defaultWarmPool(sandboxes)],
    ['WARM_POOL_TARGET', 'sandboxes.warmPoolTarget', warmPoolTarget > 0 ? warmPoolTarget : undefined],
    [
      'PORTHOLE_WARM_POOLS_BY_IMAGE',
      'sandboxes.warmPools',
      byImage.size > 0 ? Object.fromEntries(byImage) : undefined,
    ],
  ];
}

function podRows(sandboxes: Readonly<Record<string, unknown>>): Row[] {
  return Object.entries(podSettings((variable) => variable)).map(([key, variable]) => [
    variable,
    `sandboxes.${key}`,
    sandboxes[key],
  ]);
}

/** Whether the stack adds anything to the pods of sandboxes. */
function addsToPods(pod: Sandboxes['pod']): boolean {
  return Object.values(pod).some((value) => value !== undefined && Object.keys(value).length > 0);
}

/**
 * What sandboxes may ask for: the templates that pools give, and what the stack file names besides,
 * or in their place.
 */
function catalogue(sandboxes: Sandboxes): Record<string, object> {
  const { images, templates, warmPools } = sandboxes;
  const pooled = new Set(Object.values(warmPools).map(({ template }) => template));
  const given = Object.entries(templates).filter(([name]) => pooled.has(name));
  return {
    ...Object.fromEntries(given.map(([name, { image }]) => [name, { reference: image }])),
    ...Object.fromEntries(
      Object.entries(images).map(([name, { cpu, memoryMb, diskMb, ...image }]) => [
        name,
        // Claims are as large as their template, whatever the catalogue says.
        sandboxProvider(sandboxes) === 'agent-sandbox'
          ? image
          : { ...image, resources: { cpu, memory_mb: memoryMb, disk_mb: diskMb } },
      ]),
    ),
  };
}

/** The size of sandboxes of the default pool, where the stack has its template. */
function sizeRows(sandboxes: Sandboxes): Row[] {
  const name = sandboxes.warmPools[defaultWarmPool(sandboxes) ?? '']?.template ?? '';
  const template = sandboxes.templates[name];
  if (template === undefined || sandboxProvider(sandboxes) !== 'agent-sandbox') return [];
  const key = `sandboxes.templates.${name}`;
  const mebibytes = (quantity: string) => Math.floor(amountOf(quantity) / 2 ** 20);
  return [
    ['PORTHOLE_SANDBOX_CPUS', `${key}.cpu`, amountOf(template.cpu)],
    ['PORTHOLE_SANDBOX_MEMORY_MIB', `${key}.memory`, mebibytes(template.memory)],
    ['PORTHOLE_SANDBOX_DISK_MIB', `${key}.storage`, mebibytes(template.storage)],
  ];
}

/** The pool that gives an image; of several the default one, else the first by name. */
function warmPoolsByImage(sandboxes: Sandboxes): ReadonlyMap<string, string> {
  const { templates, warmPools } = sandboxes;
  const byDefault = defaultWarmPool(sandboxes);
  const found = new Map<string, string>();
  for (const pool of Object.keys(warmPools).toSorted()) {
    const image = templates[warmPools[pool]?.template ?? '']?.image;
    if (image !== undefined && (pool === byDefault || !found.has(image))) found.set(image, pool);
  }
  return found;
}

/**
 * What sandboxes could not be made without: keys below `sandboxes`, and what is wrong with them.
 */
export function sandboxProblems(sandboxes: Sandboxes): [key: string, problem: string][] {
  const { image, warmPool, warmPools, templates } = sandboxes;
  const names = Object.keys(warmPools).toSorted();
  const problems: [string, string][] = [];
  for (const name of names) {
    const { template = '' } = warmPools[name] ?? {};
    if (!(template in templates))
      problems.push([`warmPools.${name}.template`, `there is no template ${template}`]);
  }
  if (warmPool !== undefined && names.length > 0 && !names.includes(warmPool)) {
    problems.push(['warmPool', `${warmPool} is none of warmPools (${names.join(', ')})`]);
  }
  const provider = sandboxProvider(sandboxes);
  const given = warmPoolsByImage(sandboxes);
  for (const [name, { reference }] of Object.entries(sandboxes.images)) {
    if (provider === 'agent-sandbox' && !given.has(reference)) {
      problems.push([`images.${name}.reference`, `${reference} is given by none of warmPools`]);
    }
  }
  if (provider !== 'agent-sandbox' && image === undefined) {
    problems.push([
      'image',
      `is required with the provider ${provider}: the image of sandboxes that ask for none`,
    ]);
  }
  if (provider === 'kubernetes' && sandboxes.warmPoolTarget > 0) {
    problems.push([
      'warmPoolTarget',
      `${sandboxes.warmPoolTarget} has no effect with the provider kubernetes, which keeps no sandbox ready: use agent-sandbox, or leave it out`,
    ]);
  }
  // With `provider: kubernetes`, templates and pools may be made before the functions use them.
  if (sandboxes.provider === undefined && provider === 'kubernetes' && Object.keys(templates).length > 0) {
    problems.push([
      'templates',
      `${Object.keys(templates).join(', ')}: not used without a pool: add it to warmPools, or remove it`,
    ]);
  }
  if (provider !== 'kubernetes' && defaultWarmPool(sandboxes) === undefined) {
    const choice = names.length === 0 ? '' : `, one of ${names.join(', ')}`;
    problems.push([
      'warmPool',
      `is required with the provider ${provider}: the pool of sandboxes that ask for no image${choice}`,
    ]);
  }
  return problems;
}
