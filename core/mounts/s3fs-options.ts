import { PortholeError } from '../errors.ts';

const FLAG = /^$/;
const NUMBER = /^\d{1,9}$/;
const OCTAL = /^[0-7]{3,4}$/;
const WORD = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Options of s3fs for the protocol and the file view, by the pattern of their values. Excluded:
 * host paths, other servers, logs that would show a signature, and access control of the mount.
 */
const ALLOWED: Readonly<Record<string, RegExp>> = {
  allow_other: FLAG,
  complement_stat: FLAG,
  compat_dir: FLAG,
  default_acl: WORD,
  enable_content_md5: FLAG,
  enable_noobj_cache: FLAG,
  endpoint: WORD,
  list_object_max_keys: NUMBER,
  listobjectsv2: FLAG,
  max_dirty_data: NUMBER,
  max_stat_cache_size: NUMBER,
  mp_umask: OCTAL,
  multipart_copy_size: NUMBER,
  multipart_size: NUMBER,
  multipart_threshold: NUMBER,
  multireq_max: NUMBER,
  noatime: FLAG,
  nocopyapi: FLAG,
  nomixupload: FLAG,
  nomultipart: FLAG,
  norenameapi: FLAG,
  notsup_compat_dir: FLAG,
  noxmlns: FLAG,
  parallel_count: NUMBER,
  readwrite_timeout: NUMBER,
  connect_timeout: NUMBER,
  requester_pays: FLAG,
  retries: NUMBER,
  ro: FLAG,
  sigv2: FLAG,
  sigv4: FLAG,
  singlepart_copy_limit: NUMBER,
  stat_cache_expire: NUMBER,
  stat_cache_interval_expire: NUMBER,
  storage_class: WORD,
  umask: OCTAL,
  use_path_request_style: FLAG,
  use_rrs: FLAG,
};

/** Options for server and credentials: the request's own fields set them. */
const OURS = new Set(['passwd_file', 'url', 'host']);

/**
 * Splits the options: one text may contain several, as on s3fs's command line.
 * @throws PortholeError `mount_error`
 */
export function readS3fsOptions(texts: readonly string[]): readonly string[] {
  const options = texts.flatMap((text) => text.split(',')).map((option) => option.trim());
  return options.filter((option) => option !== '').map(check);
}

function check(option: string): string {
  const [name = '', ...rest] = option.split('=');
  if (OURS.has(name)) throw failed(`s3fs option ${name} cannot be overridden`);
  const form = Object.hasOwn(ALLOWED, name) ? ALLOWED[name] : undefined;
  // The value is not repeated: it may be a secret with a mistyped option name.
  if (form === undefined)
    throw failed(`s3fs option ${JSON.stringify(name.slice(0, 60))} is not supported here`);
  if (!form.test(rest.join('='))) throw failed(`s3fs option ${name} has a value that it cannot have`);
  return option;
}

function failed(reason: string): PortholeError {
  return new PortholeError('mount_error', `mount failed: ${reason}`);
}
