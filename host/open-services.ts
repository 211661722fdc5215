import { X509Certificate } from 'node:crypto';
import { readFile, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { createAuthenticator } from '#adapters/auth/authenticators.ts';
import { createBrokerTokens, createGuestKeys, deriveKeySet } from '#protocol/guest/key-set.ts';
import { loadOrCreateJwks } from '#adapters/auth/key-file.ts';
import { createSealedTexts, createSeals, type SealedTexts } from '#adapters/auth/sealed-texts.ts';
import { createSignedTokens } from '#adapters/auth/signed-tokens.ts';
import { createPageBrowser } from '#adapters/browser/chromium-pages.ts';
import { createRemotePages } from '#adapters/browser/remote-pages.ts';
import { readMachineTools } from '#adapters/egress/machine-tools.ts';
import type { NetworkBroker } from '#adapters/egress/network-broker.ts';
import { appProbe } from '#adapters/previews/http-app-probe.ts';
import { randomIds, systemClock } from '#adapters/system/clock-and-random-ids.ts';
import { DiskReserve } from '#adapters/system/disk-reserve.ts';
import { folderArchiveStore } from '#adapters/system/folder-archive-store.ts';
import { type S3ArchiveOptions, s3ArchiveStore } from '#adapters/system/s3-archive-store.ts';
import { workerSchemaValidator } from '#adapters/editor/worker-schema-validator.ts';
import { createPendingApprovals } from '#core/approvals/pending-approvals.ts';
import type { ArchiveStore } from '#core/archives/archive-store.ts';
import type { ArchiveSandboxDeps } from '#core/archives/archive-sandbox.ts';
import { ARCHIVED_WITHIN_MS } from '#protocol/settings/shared-values.ts';
import { DeniedRequests } from '#core/audit/denied-requests.ts';
import type { Disk } from '#core/diagnosis/examine-installation.ts';
import { GuessLimit } from '#core/auth/guess-limit.ts';
import { Passwords } from '#core/auth/passwords.ts';
import { TicketRate } from '#core/previews/ticket-rate.ts';
import { secretRedactor } from '#core/auth/redact-secrets.ts';
import { NO_BROWSER } from '#core/pages/page-browser.ts';
import { PageRechecker } from '#core/pages/recheck-pages.ts';
import { publishingPlane } from '#core/previews/preview-events.ts';
import { guestsOf } from '#core/processes/guest.ts';
import { GuestWatcher } from '#core/processes/watch-guests.ts';
import { ManagedPool } from '#core/sandboxes/managed-pool.ts';
import { makeRoom } from '#core/sandboxes/make-room.ts';
import { SandboxActivity } from '#core/sandboxes/sandbox-activity.ts';
import { createSandboxEventPublisher } from '#core/sandboxes/sandbox-event-publisher.ts';
import { TrafficCounter } from '#core/usage/traffic-counter.ts';
import type { WakingClock } from '#base/clock-and-ids.ts';
import { isEssential } from '#base/essential-work.ts';
import { anySignal, onceOpen } from '#base/concurrency.ts';
import type { Records } from '#core/records.ts';
import { Terminals } from '#core/terminals/terminals.ts';
import { WebhookDeliveries } from '#core/webhooks/deliver-webhooks.ts';
import { createAdmission } from '#handlers/http/admit.ts';
import { VERSION } from '#handlers/route.ts';
import type { Logger, Services } from '#handlers/services.ts';
import { type Config, secretsOf } from './config/config.ts';
import { isOnOneMachine } from '#protocol/settings/contradictions.ts';
import { type DataFolder, openDataFolder } from './data-folder.ts';
import type { Metrics } from './telemetry/metrics.ts';
import { openNetwork } from './open-network.ts';
import type { Platform, PlatformDeps } from './platforms/platform.ts';

/** The services of the functions, opened. */
export interface OpenServices {
  readonly services: Services;
  readonly platform: Platform;
  /** Makes the outgoing connections of sandboxes on this machine; undefined in a cluster. */
  readonly broker: NetworkBroker | undefined;
  /** Publishes events of sandboxes. */
  readonly watcher: GuestWatcher;
  /** The data folder of this process; undefined if it stores nothing on this machine. */
  readonly folder: DataFolder | undefined;
  /** Closes everything, in reverse order. */
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

/** Fewer milliseconds than people notice between a command and its event. */
const EVENTS_AFTER_MS = 25;

const DATABASE_DOWN = 'The database does not answer: look at its state and at DATABASE_URL.';

/**
 * Connects the ports to the configured adapters. Creates a data folder only if something must be
 * stored in it: with a database, signing keys and a cluster there is nothing to store.
 * @throws ConfigError, DataFolderError
 */
export async function openServices({
  config,
  log,
  clock = systemClock,
  metrics,
  stopping = new AbortController().signal,
}: OpenServicesOptions): Promise<OpenServices> {
  // Closes everything again if a later step fails.
  const opened = new AsyncDisposableStack();
  try {
    let folder: DataFolder | undefined;
    let reserve: DiskReserve | undefined;
    let opening: Promise<string> | undefined;
    const folderPath = () =>
      (opening ??= (async () => {
        const taken = await openDataFolder(config.dataDir);
        folder = taken;
        opened.defer(() => taken.release());
        // Before anything else is opened: nothing can be on a full disk.
        const kept = openDiskReserve(taken.path, log);
        reserve = kept;
        opened.defer(() => kept.close());
        return taken.path;
      })());
    // First, because resources close in reverse order.
    if (isOnOneMachine(config)) await folderPath();
    const keys = deriveKeySet(
      config.signingKeys ?? (await loadOrCreateJwks(join(await folderPath(), 'signing-keys.json'))),
    );
    const records = await openRecords(config.databaseUrl, folderPath, {
      log,
      seals: createSealedTexts(keys),
      makeRoom: () => isEssential() && reserve?.makeRoom() === true,
    });
    opened.defer(() => records.close());
    await records.migrate();
    const tokens = createSignedTokens(keys);
    const guestKeys = createGuestKeys(keys);
    const publisher = createSandboxEventPublisher({
      records,
      clock,
      redact: secretRedactor(secretsOf(config)),
      failed: (err) => log.warn({ err }, 'sandbox events not published'),
      // Not in functions: their process may stop after a response.
      delayMs: isOnOneMachine(config) ? EVENTS_AFTER_MS : 0,
    });
    opened.defer(() => publisher.settled());
    const activity = new SandboxActivity({ records, clock });
    opened.defer(() => activity.close());
    const traffic = new TrafficCounter({
      usage: records.usage,
      clock,
      failed: (err) => log.warn({ err }, 'traffic of sandboxes not recorded: the next write has it'),
    });
    opened.defer(() => traffic.close());
    const tools = readMachineTools(isOnOneMachine(config) ? process.env : {});
    const platform = await openPlatform(config, {
      records,
      tokens,
      guestKeys,
      brokerTokens: createBrokerTokens(keys),
      publisher,
      activity,
      traffic,
      clock,
      tools,
      log,
      metrics,
      folder: folderPath,
      space: {
        isLow: () => reserve?.isLow() ?? false,
        makeRoom: () => isEssential() && reserve?.makeRoom() === true,
      },
    });
    opened.defer(() => platform.close());
    const { sandboxes, provisionAccess, installationId, mounter } = platform;
    const controlled = sandboxes.for('control');
    const guests = guestsOf(controlled);
    const own = isOnOneMachine(config)
      ? (await import('./open-broker.ts')).openBroker(config, {
          records,
          publisher,
          traffic,
          clock,
          ids: randomIds,
          guests,
          stopping,
          tools,
          isRemote: false,
        })
      : undefined;
    opened.defer(() => own?.broker.close());
    const network = openNetwork(config, { records, tools, platform }, own);
    const archived = { records, sandboxes: sandboxes.for('archive'), clock, installationId, metrics };
    const archives = openArchives(config.archive, archived);
    const plane = publishingPlane(platform.plane, publisher);
    const pool =
      platform.pool ??
      new ManagedPool({
        records,
        sandboxes,
        clock,
        ids: randomIds,
        installationId,
        config: config.pool,
        failed: (err) => log.error({ err }, 'warm sandbox not made'),
      });
    opened.defer(() => pool.close());
    metrics.countPreviews(async () => {
      let count = 0;
      for await (const _ of plane.list()) count += 1;
      return count;
    });
    const terminals = new Terminals({ sandboxes, records, stopping });
    opened.defer(() => terminals.close());
    const failed = (reason: string) => log.warn({ reason }, 'browser failed');
    const pages = config.featuresOff.has('pages')
      ? NO_BROWSER
      : config.browsers === undefined
        ? createPageBrowser({ program: config.browser, failed })
        : createRemotePages({ url: config.browsers, keys: guestKeys, failed });
    opened.defer(() => pages.close());
    const rechecker = new PageRechecker(
      {
        records,
        plane,
        sandboxes: controlled,
        probe: appProbe,
        pages,
        traffic,
        previewSettings: config.preview,
        tokens,
        clock,
        ids: randomIds,
      },
      (id, err) => log.warn({ err, run_id: id }, 'pages of a run not checked again'),
    );
    opened.defer(() => rechecker.close());
    const authenticator = createAuthenticator({
      ...config,
      seals: createSeals(keys),
      tokens,
      records,
      clock,
      unrecorded: (err) => log.warn({ err }, 'use of a key not recorded'),
    });
    const watcher = new GuestWatcher({
      guests,
      sandboxes: controlled,
      records,
      publisher,
      clock,
      redact: secretRedactor(secretsOf(config)),
      failed: (id, err) => log.warn({ err, sandbox_id: id }, 'events of a sandbox not followed'),
    });
    opened.defer(() => watcher.close());
    const webhooks = new WebhookDeliveries({
      records,
      clock,
      async sender() {
        const { webhookSender } = await import('#adapters/egress/webhook-sender.ts');
        const { proxies } = config.network;
        return webhookSender({ allow: config.webhookAllow, proxies, userAgent: `Porthole/${VERSION}` });
      },
      source: config.publicUrl?.origin ?? `urn:porthole:${installationId}`,
      failed: (err) => log.error({ err }, 'webhooks not delivered: tried again soon'),
    });
    opened.defer(() => webhooks.close());
    const services: Services = {
      records,
      plane,
      sandboxes,
      guests,
      network,
      followGuest: (id) => (isOnOneMachine(config) ? () => undefined : watcher.follow(id)),
      activity,
      traffic,
      pool,
      probe: appProbe,
      pages,
      rechecker,
      installationId,
      publicUrl: config.publicUrl,
      oidcIssuer: config.oidc?.issuer,
      featuresOff: config.featuresOff,
      quotas: config.quotas,
      uploads: config.uploads,
      makeRoom: config.hasOneUser
        ? (owner) => makeRoom({ records, sandboxes, plane, clock, installationId }, owner)
        : undefined,
      runSharing: config.runSharing,
      maxInstances: config.pool.maxInstances,
      life: config.life,
      // A host on one machine collects orphans at its start.
      collectsOrphans: !isOnOneMachine(config) && config.databaseUrl !== undefined,
      images: config.images,
      tokens,
      publisher,
      pendingApprovals: createPendingApprovals({ records, clock }),
      provisionAccess,
      mounter,
      buckets: config.buckets,
      archives,
      checkpoints: await openCheckpoints(config, archives?.store, folderPath),
      terminals,
      schemas: workerSchemaValidator(),
      editor: config.editor,
      toolPrograms: onceOpen(() =>
        import('#adapters/editor/tool-programs.ts').then((each) => each.readToolPrograms()),
      ),
      clock,
      stopping,
      ids: randomIds,
      previewSettings: config.preview,
      authenticator,
      admission: createAdmission(config.requestLimits, clock),
      auditRetentionMs: config.auditRetentionMs,
      denied: new DeniedRequests({
        audit: records.audit,
        clock,
        failed: (err) => log.error({ err }, 'refused requests not in the audit'),
      }),
      guesses: new GuessLimit(config.requestLimits.wrongSecretsPerMinute, clock),
      webhooks,
      ticketRate: new TicketRate(clock),
      passwords: new Passwords(config.requestLimits.wrongSecretsPerMinute, clock),
      log,
      about: {
        provider: config.provider,
        describe: () => platform.describe(),
        software: async () => {
          const under = await platform.software?.();
          const own = [`Porthole ${VERSION}`, `Node ${process.versions.node}`];
          return under === undefined ? own : [...own, under];
        },
        certificateEnds: () => certificateEnds(config.tls?.cert),
        disk: async () => (folder === undefined ? undefined : diskOf(folder.path)),
        signIn: signInOf(config),
        docsUrl: config.docsUrl,
        feedbackUrl: config.feedbackUrl,
      },
      warnings: () => {
        const found = platform.warnings();
        return records.isAnswering() ? found : [...found, DATABASE_DOWN];
      },
      metrics: () => metrics.expose(),
      openapi: onceOpen(async () => {
        const [{ openapiDocument }, { routesWithout }] = await Promise.all([
          import('#handlers/ops/openapi-document.ts'),
          import('#handlers/features.ts'),
        ]);
        const secured = authenticator.withoutCredential === undefined;
        return JSON.stringify(openapiDocument(routesWithout(config.featuresOff), { secured }));
      }),
    };
    const kept = opened.move();
    return { services, platform, watcher, broker: own?.broker, folder, close: () => kept.disposeAsync() };
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

async function certificateEnds(file: string | undefined): Promise<Date | undefined> {
  return file === undefined ? undefined : new Date(new X509Certificate(await readFile(file)).validTo);
}

async function diskOf(path: string): Promise<Disk> {
  const { bavail, blocks, bsize } = await statfs(path);
  return { free: bavail * bsize, total: blocks * bsize };
}

function signInOf({ oidc, serviceKey, apiKeys }: Config): Services['about']['signIn'] {
  if (oidc === undefined) return 'keys';
  return serviceKey === undefined && Object.keys(apiKeys).length === 0 ? 'oidc' : 'keys_and_oidc';
}

/** In the bucket of archives; on one machine without one, in the data folder. */
async function openCheckpoints(
  config: Config,
  bucket: ArchiveStore | undefined,
  folder: () => Promise<string>,
): Promise<Services['checkpoints']> {
  const limits = { maxBytes: config.checkpointBytes };
  const automatic = config.autoCheckpoints ? { commands: config.checkpointCommands } : undefined;
  if (bucket !== undefined) return { store: bucket, limits, automatic };
  if (!isOnOneMachine(config)) return undefined;
  return { store: folderArchiveStore(await folder()), limits, automatic };
}

/** Archives workspaces in the configured bucket, and counts the outcomes. */
function openArchives(
  options: S3ArchiveOptions | undefined,
  { metrics, ...deps }: Omit<ArchiveSandboxDeps, 'store'> & { readonly metrics: Metrics },
): Services['archives'] {
  if (options === undefined) return undefined;
  const store = s3ArchiveStore(options);
  return {
    store,
    async keep(sandbox, signal) {
      const until = anySignal(signal, AbortSignal.timeout(ARCHIVED_WITHIN_MS));
      try {
        // Loaded on demand: it reads and writes tar files.
        const { archiveSandbox } = await import('#core/archives/archive-sandbox.ts');
        await archiveSandbox({ ...deps, store }, sandbox, until);
        metrics.record('porthole_archives_total', { outcome: 'kept' });
      } catch (error) {
        metrics.record('porthole_archives_total', { outcome: 'failed' });
        throw error;
      }
    },
  };
}

/**
 * PostgreSQL if a URL is given, else a SQLite file in the data folder. Loads only the one in use.
 */
export async function openRecords(
  databaseUrl: string | undefined,
  folder: () => Promise<string>,
  {
    log,
    seals,
    makeRoom,
  }: { readonly log: Logger; readonly seals: SealedTexts; readonly makeRoom?: () => boolean },
): Promise<Records> {
  if (databaseUrl !== undefined) {
    const { openPostgresRecords } = await import('#adapters/sql/postgres/open-postgres-records.ts');
    return openPostgresRecords({ url: databaseUrl, log, seals });
  }
  const { openSqliteRecords } = await import('#adapters/sql/sqlite/open-sqlite-records.ts');
  return openSqliteRecords({ file: join(await folder(), 'porthole.db'), log, seals, makeRoom });
}

function openDiskReserve(folder: string, log: Logger): DiskReserve {
  return new DiskReserve({
    folder,
    changed(state, err) {
      if (state === 'made') log.info({ folder }, 'the disk has space again');
      else if (err !== undefined) log.warn({ err, folder }, 'no space reserved for stops and deletions');
      else log.error({ folder }, 'the disk is full: delete files or sandboxes');
    },
  });
}

/** The configured platform. The others are not loaded. */
async function openPlatform(config: Config, deps: PlatformDeps): Promise<Platform> {
  if (config.provider === 'local') {
    const { openLocalPlatform } = await import('./platforms/local-platform.ts');
    return openLocalPlatform(config, { ...deps, folder: await deps.folder() });
  }
  if (config.provider === 'docker') {
    const { openDockerPlatform } = await import('./platforms/docker-platform.ts');
    return openDockerPlatform(config, { ...deps, folder: await deps.folder() });
  }
  const { openKubernetesPlatform } = await import('./platforms/kubernetes-platform.ts');
  return openKubernetesPlatform(config, config.provider, deps);
}
