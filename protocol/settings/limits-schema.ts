import { z } from 'zod';

const amount = z.number('must be a number, or null for any amount').min(0, 'must be at least 0');
const wholeAmount = amount.int('must be whole');
const quota = {
  cpu: amount.nullish(),
  memory_mb: wholeAmount.nullish(),
  disk_mb: wholeAmount.nullish(),
};
const OwnQuota = z.strictObject({
  sandboxes: wholeAmount.nullish(),
  runs: wholeAmount.nullish(),
  previews: wholeAmount.nullish(),
  ...quota,
});
const DefaultQuota = z.strictObject({
  // Its default depends on the machine: `default-quotas.ts`.
  sandboxes: wholeAmount.nullish(),
  runs: wholeAmount.nullable().default(100),
  // Half of the default for all users, so that one person cannot take all.
  previews: wholeAmount.nullable().default(10),
  ...quota,
});
/** Value of `PORTHOLE_QUOTAS`. */
export const QuotasSchema = z
  .strictObject({
    default: DefaultQuota.prefault({}),
    users: z.record(z.string().trim().min(1, 'must not be empty'), OwnQuota).default({}),
  })
  .transform(({ default: common, users }) => ({
    default: toQuota(common),
    users: Object.fromEntries(Object.entries(users).map(([user, own]) => [user, toQuota(own)])),
  }));

/** Without the fields that are not set: the default applies to them. */
function toQuota({ memory_mb: memoryMb, disk_mb: diskMb, ...quota }: z.infer<typeof OwnQuota>) {
  return {
    ...quota,
    ...(memoryMb !== undefined && { memoryMb }),
    ...(diskMb !== undefined && { diskMb }),
  };
}

const Budget = z
  .strictObject({
    vcpu_s: amount.nullish(),
    memory_gib_s: amount.nullish(),
    at_limit: z.enum(['warn', 'stop']).default('warn'),
  })
  .transform(({ vcpu_s: vcpuS, memory_gib_s: memoryGibS, at_limit: atLimit }) => ({
    vcpuS,
    memoryGibS,
    atLimit,
  }));
const budgetsByName = z.record(z.string().trim().min(1, 'must not be empty'), Budget).default({});
/** Value of `PORTHOLE_BUDGETS`. */
export const BudgetsSchema = z.strictObject({
  default: Budget.optional(),
  users: budgetsByName,
  orgs: budgetsByName,
});

const atLeastOne = z.number('must be a number').int('must be whole').min(1, 'must be at least 1');
const requestLimits = (perOwner: number, total: number, waiting: number) =>
  z
    .strictObject({
      per_owner: atLeastOne.default(perOwner),
      total: atLeastOne.default(total),
      waiting: wholeAmount.default(waiting),
    })
    .prefault({})
    .transform(({ per_owner, ...rest }) => ({ perOwner: per_owner, ...rest }));
/**
 * Value of `PORTHOLE_REQUEST_LIMITS`. Streams do not queue: a slot may take an hour to become free.
 */
export const RequestLimitsSchema = z
  .strictObject({
    cheap: requestLimits(32, 256, 512),
    heavy: requestLimits(2, 4, 64),
    stream: requestLimits(128, 10_000, 0),
    streams_per_second: atLeastOne.default(50),
    wrong_secrets_per_minute: atLeastOne.default(30),
  })
  .transform(({ streams_per_second, wrong_secrets_per_minute, ...classes }) => ({
    ...classes,
    streamsPerSecond: streams_per_second,
    wrongSecretsPerMinute: wrong_secrets_per_minute,
  }));
