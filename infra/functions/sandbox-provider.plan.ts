import type { StackConfig } from '../stack-config/stack-config-schema.ts';

type Sandboxes = StackConfig['sandboxes'];

/** What makes sandboxes: as asked for, else what is configured. Without a warm pool agent-sandbox could make none. */
export function sandboxProvider(sandboxes: Sandboxes): 'kubernetes' | 'agent-sandbox' | 'auto' {
  const { provider, warmPool, warmPools } = sandboxes;
  const hasPool = warmPool !== undefined || Object.keys(warmPools).length > 0;
  return provider ?? (hasPool ? 'agent-sandbox' : 'kubernetes');
}

/** The pool of sandboxes that ask for no image; undefined where none is named, and none or several are there. */
export function defaultWarmPool({ warmPool, warmPools }: Sandboxes): string | undefined {
  const names = Object.keys(warmPools);
  return warmPool ?? (names.length === 1 ? names[0] : undefined);
}

/** Every pool that the functions may claim from, those that others keep included. */
export function warmPoolNames(sandboxes: Sandboxes): string[] {
  const byDefault = defaultWarmPool(sandboxes);
  return [...new Set([...Object.keys(sandboxes.warmPools), ...(byDefault === undefined ? [] : [byDefault])])];
}

/** What the functions read of it, by the exact names. */
export function sandboxEnvironmentPlan(sandboxes: Sandboxes): Record<string, string> {
  const { image, storageClass, warmPoolTarget } = sandboxes;
  const warmPool = defaultWarmPool(sandboxes);
  const byImage = warmPoolsByImage(sandboxes);
  return {
    PORTHOLE_PROVIDER: sandboxProvider(sandboxes),
    ...(image !== undefined && { PORTHOLE_SANDBOX_IMAGE: image }),
    PORTHOLE_IMAGES: JSON.stringify(catalogue(sandboxes)),
    ...(storageClass !== undefined && { PORTHOLE_SANDBOX_STORAGE_CLASS: storageClass }),
    ...(warmPool !== undefined && { PORTHOLE_WARM_POOL: warmPool }),
    ...(warmPoolTarget > 0 && { WARM_POOL_TARGET: String(warmPoolTarget) }),
    ...(byImage.size > 0 && {
      PORTHOLE_WARM_POOLS_BY_IMAGE: JSON.stringify(Object.fromEntries(byImage)),
    }),
  };
}

/** What sandboxes may ask for: the templates that pools give, and what the stack file names besides, or in their place. */
function catalogue({ images, templates, warmPools }: Sandboxes): Record<string, object> {
  const pooled = new Set(Object.values(warmPools).map(({ template }) => template));
  const given = Object.entries(templates).filter(([name]) => pooled.has(name));
  return {
    ...Object.fromEntries(given.map(([name, { image }]) => [name, { reference: image }])),
    ...Object.fromEntries(
      Object.entries(images).map(([name, { cpu, memoryMb, diskMb, ...image }]) => [
        name,
        { ...image, resources: { cpu, memory_mb: memoryMb, disk_mb: diskMb } },
      ]),
    ),
  };
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

/** What sandboxes could not be made without: keys below `sandboxes`, and what is wrong with them. */
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
  if (provider !== 'kubernetes' && defaultWarmPool(sandboxes) === undefined) {
    const choice = names.length === 0 ? '' : `, one of ${names.join(', ')}`;
    problems.push([
      'warmPool',
      `is required with the provider ${provider}: the pool of sandboxes that ask for no image${choice}`,
    ]);
  }
  return problems;
}
