import { PortholeError } from '../errors.ts';

const FLAG = /^$/;
const NUMBER = /^\d{1,9}$/;
const OCTAL = /^[0-7]{3,4}$/;
const WORD = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Options of s3fs that say how a bucket is spoken to and how it looks, by the form of their values.
 * No path of the host, no other server, no log that would show a signature, and nothing that
 * decides who may reach the mount.
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

/** What says where to connect and as whom: the request's own fields do. */
const OURS = new Set(['passwd_file', 'url', 'host']);

/**
 * The options, one each: a caller may put several into one text, as on s3fs's command line. @throws
 * PortholeError `mount_error`
 */
export function readS3fsOptions(texts: readonly string[]): readonly string[] {
  const options = texts.flatMap((text) => text.split(',')).map((option) => option.trim());
  return options.filter((option) => option !== '').map(check);
}

function check(option: string): string {
  const [name = '', ...rest] = option.split('=');
  if (OURS.has(name)) throw failed(`s3fs option ${name} cannot be overridden`);
  const form = Object.hasOwn(ALLOWED, name) ? ALLOWED[name] : undefined;
  // The value may be a secret of somebody who mistook the name.
  if (form === undefined)
    throw failed(`s3fs option ${JSON.stringify(name.slice(0, 60))} is not supported here`);
  if (!form.test(rest.join('='))) throw failed(`s3fs option ${name} has a value that it cannot have`);
  return option;
}

function failed(reason: string): PortholeError {
  return new PortholeError('mount_error', `mount failed: ${reason}`);
}
