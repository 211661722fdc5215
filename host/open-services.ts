import { join } from 'node:path';
import { readMachineTools } from '#adapters/egress/machine-tools.ts';
import type { NetworkBroker } from '#adapters/egress/network-broker.ts';
import { appProbe } from '#adapters/gateway/app-probe.ts';
import { createAuthenticator } from '#adapters/auth/configured-authenticator.ts';
import { workerSchemaValidator } from '#adapters/schemas/worker-schema-validator.ts';
import { createGuestKeys, deriveKeySet, loadOrCreateJwks } from '#adapters/keys/key-set.ts';
import { createSealedTexts } from '#adapters/keys/sealed-texts.ts';
import { createSeals } from '#adapters/keys/seals.ts';
import { createSignedTokens } from '#adapters/keys/signed-tokens.ts';
import { randomIds } from '#adapters/system/random-ids.ts';
import { systemClock } from '#adapters/system/system-clock.ts';
import type { WakingClock } from '#core/ports/clock.ts';
import { secretRedactor } from '#core/rules/redact-secrets.ts';
import { GuessLimit } from '#core/use-cases/guess-limit.ts';
import { guestsOf } from '#core/use-cases/guest.ts';
import { GuestWatcher } from '#core/use-cases/processes/watch-guests.ts';
import { SandboxActivity } from '#core/use-cases/sandbox-activity.ts';
import { createSandboxEventPublisher } from '#core/use-cases/sandbox-event-publisher.ts';
import { publishingPlane } from '#core/use-cases/publishing-plane.ts';
import { managedPool } from '#core/use-cases/warm-pool/managed-pool.ts';
import { createPendingApprovals } from '#core/use-cases/pending-approvals.ts';
import { Terminals } from '#core/use-cases/terminals/terminals.ts';
import { createAdmission } from '#handlers/middleware/admit.ts';
import type { Logger, Services } from '#handlers/services.ts';
import { type Config, isOnOneMachine, secretsOf } from './config/config.ts';
import { type DataFolder, openDataFolder } from './data-folder.ts';
import type { Metrics } from './metrics.ts';
import { openArchives } from './open-archives.ts';
import { openNetwork } from './open-network.ts';
import { openPlatform } from './open-platform.ts';
import { openRecords } from './open-records.ts';
import type { Platform } from './platform.ts';

/** Everything that functions run on, open. */
export interface OpenServices {
  readonly services: Services;
  readonly platform: Platform;
  /** Makes the connections of sandboxes on this machine. */
  readonly broker: NetworkBroker;
  /** Publishes what happens in sandboxes. */
  readonly watcher: GuestWatcher;
  /** The folder of this process; undefined where nothing of it is kept on this machine. */
  readonly folder: DataFolder | undefined;
  /** Lets go of it all, the last one first. */
  close(): Promise<void>;
}

export interface OpenServicesOptions {
  readonly config: Config;
  readonly log: Logger;
  /** @default the system's */
  readonly clock?: WakingClock | undefined;
  readonly metrics: Metrics;
  /** Aborted when the process is about to end. @default never */
  readonly stopping?: AbortSignal | undefined;
}

/**
 * Wires the ports to what the configuration names. A data folder is made only where something must be kept in it: with a database, signing keys and a cluster
 * the process keeps nothing.
 * @throws ConfigError, DataFolderError
 */
export async function openServices({
  config,
  log,
  clock = systemClock,
  metrics,
  stopping = new AbortController().signal,
}: OpenServicesOptions): Promise<OpenServices> {
  // Whatever is open when a later step fails is closed again.
  const opened = new AsyncDisposableStack();
  try {
    let folder: DataFolder | undefined;
    let opening: Promise<string> | undefined;
    const folderPath = () =>
      (opening ??= (async () => {
        const taken = await openDataFolder(config.dataDir);
        folder = taken;
        opened.defer(() => taken.release());
        return taken.path;
      })());
    // Before the rest: what is opened first is closed last.
    if (isOnOneMachine(config)) await folderPath();
    const keys = deriveKeySet(
      config.signingKeys ?? (await loadOrCreateJwks(join(await folderPath(), 'signing-keys.json'))),
    );
    const records = await openRecords(config.databaseUrl, folderPath, {
      log,
      seals: createSealedTexts(keys),
    });
    opened.defer(() => records.close());
    await records.migrate();
    const tokens = createSignedTokens(keys);
    const publisher = createSandboxEventPublisher({
      records,
      clock,
      redact: secretRedactor(secretsOf(config)),
      failed: (err) => log.warn({ err }, 'events of a sandbox not told'),
    });
    opened.defer(() => publisher.settled());
    const activity = new SandboxActivity({ records, clock });
    opened.defer(() => activity.close());
    const tools = readMachineTools(isOnOneMachine(config) ? process.env : {});
    const platform = await openPlatform(config, {
      records,
      tokens,
      guestKeys: createGuestKeys(keys),
      publisher,
      activity,
      clock,
      tools,
      log,
      metrics,
      folder: folderPath,
    });
    opened.defer(() => platform.close());
    const { provider, rawProvider, provisionAccess, place, mounter } = platform;
    const guests = guestsOf(rawProvider);
    const { access: network, broker } = openNetwork(config, {
      records,
      publisher,
      clock,
      ids: randomIds,
      guests,
      stopping,
      tools,
      platform,
    });
    opened.defer(() => broker.close());
    const archives = openArchives(config.archive, { records, provider: rawProvider, clock, place, metrics });
    const plane = publishingPlane(platform.plane, publisher);
    const pool =
      platform.pool ??
      managedPool({
        records,
        provider,
        clock,
        ids: randomIds,
        place,
        config: config.pool,
        failed: (err) => log.error({ err }, 'warm sandbox not made'),
      });
    opened.defer(() => pool.close());
    metrics.countPreviews(async () => {
      let count = 0;
      for await (const _ of plane.list()) count += 1;
      return count;
    });
    const terminals = new Terminals({ provider, records, stopping });
    opened.defer(() => terminals.close());
    const authenticator = createAuthenticator({
      ...config,
      seals: createSeals(keys),
      tokens,
      records,
      clock,
    });
    const watcher = new GuestWatcher({
      guests,
      provider: rawProvider,
      records,
      publisher,
      clock,
      redact: secretRedactor(secretsOf(config)),
      failed: (id, err) => log.warn({ err, sandbox_id: id }, 'events of a sandbox not followed'),
    });
    opened.defer(() => watcher.close());
    let openapi: Promise<object> | undefined;
    const services: Services = {
      records,
      plane,
      provider,
      guests,
      network,
      // On one machine the host watches every sandbox from its start.
      followGuest: (id) => (isOnOneMachine(config) ? () => undefined : watcher.follow(id)),
      activity,
      pool,
      probe: appProbe,
      place,
      publicUrl: config.publicUrl,
      quotas: config.quotas,
      maxInstances: config.pool.maxInstances,
      life: config.life,
      // On one machine the start of the host does it.
      collectsOrphans: !isOnOneMachine(config) && config.databaseUrl !== undefined,
      images: config.images,
      tokens,
      publisher,
      pendingApprovals: createPendingApprovals({ records, clock }),
      provisionAccess,
      mounter,
      buckets: config.buckets,
      archives,
      terminals,
      schemas: workerSchemaValidator(),
      editor: config.editor,
      clock,
      stopping,
      ids: randomIds,
      preview: config.preview,
      authenticator,
      admission: createAdmission(config.requestLimits),
      guesses: new GuessLimit(config.requestLimits.wrongSecretsPerMinute, clock),
      log,
      warnings: platform.warnings,
      metrics: () => metrics.expose(),
      openapi: () =>
        (openapi ??= (async () => {
          const [{ openapiDocument }, { ROUTES }] = await Promise.all([
            import('#handlers/docs/openapi-document.ts'),
            import('#handlers/routes.ts'),
          ]);
          return openapiDocument(ROUTES, { secured: authenticator.withoutCredential === undefined });
        })()),
    };
    const kept = opened.move();
    return { services, platform, watcher, broker, folder, close: () => kept.disposeAsync() };
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}
