import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { feedScript, IN_WORKSPACE } from '../files/workspace-script.ts';
import { changedProvider } from '../sandboxes/provider-layers.ts';
import type { SandboxProvider } from '../sandboxes/sandbox-provider.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import type { Records } from '../shared/records.ts';
import { requireSkills, skillsArchive } from './put-skill.ts';
import type { PackedSkill, SandboxSkill } from './skill-store.ts';

/**
 * Lays skills below the workspace. The input is a tar of `.new`, the files as they are to be
 * (`sha256 path`), and the files themselves; its last line is `whole`. `$1` and `$2` are names that
 * nobody knows, `$3` the names of the skills, a space around each. Prints the files that are not as
 * they are to be, because somebody has changed them.
 *
 * What was placed is known by `skills/.porthole`, a list of the same kind: what is still as it
 * stands there is ours, may be replaced, and goes when its skill has it no more. Everything else is
 * the user's. Before anything is touched the list has the old and the new, so that a script that is
 * killed leaves nothing of ours that looks like the user's. Nothing is written through a link.
 */
export const PLACE_SKILLS = `${IN_WORKSPACE}
LC_ALL=C; export LC_ALL
temp=$root/.porthole-$1 stage=$root/.porthole-$2 names=$3
trap 'trap "" HUP INT TERM; rm -rf -- "$temp" "$stage"' EXIT
trap 'exit 46' HUP INT TERM
umask 077
set -C
exec 4> "$temp" || exit 46
echo ready >&2
cat >&4 || exit 46
exec 4>&-
set +C
[ "$(tail -c 6 -- "$temp")" = whole ] || exit 46
mkdir -- "$stage" || exit 46
umask 022
( cd -P -- "$stage" && tar -xof "$temp" ) || exit 48
rm -f -- "$temp"
new=$stage/.new
cut -c 67- -- "$new" > "$stage/.paths" || exit 46

[ -e skills ] || [ -L skills ] || mkdir -- skills || exit 46
if [ -L skills ] || [ ! -d skills ]; then cat -- "$stage/.paths"; exit 0; fi
cd -P -- skills || exit 46
arrived

# Lines of the second file that are in the first; lines of the first that are not in the second.
both() { [ ! -s "$1" ] || grep -xFf "$1" -- "$2"; :; }
minus() { if [ -s "$2" ]; then grep -vxFf "$2" -- "$1"; else cat -- "$1"; fi; :; }
# Whether no folder on the way to a file is a link, or no folder.
open_way() {
  way=$1 done=
  while :; do
    case "$way" in */*) done=$done\${way%%/*} way=\${way#*/} ;; *) return 0 ;; esac
    if [ -L "$done" ] || { [ -e "$done" ] && [ ! -d "$done" ]; }; then return 1; fi
    done=$done/
  done
}
# Those of the files that are there, as they are.
look() {
  while IFS= read -r path; do
    open_way "$path" && [ ! -L "$path" ] && [ -f "$path" ] && printf '%s\\0' "$path"
  done > "$stage/.there"
  [ ! -s "$stage/.there" ] || xargs -0 sha256sum -- < "$stage/.there" 2>/dev/null
  :
}
keep_list() { mv -fT -- "$stage/.list" .porthole || exit 46; }

old=$stage/.old
: > "$old"
if [ -f .porthole ] && [ ! -L .porthole ]; then
  grep -E '^[0-9a-f]{64}  [a-z0-9-]+/' -- .porthole | grep -vE '//|/\\.\\.?(/|$)' > "$old"
fi
sort -u -- "$old" "$new" > "$stage/.list" || exit 46
keep_list

# A skill that is not there at all comes at once, unless somebody else is quicker.
for name in $names; do
  [ -e "$name" ] || [ -L "$name" ] || mv -nT -- "$stage/$name" "$name" || [ -d "$name" ] || exit 46
done

# Of these skills alone.
while IFS= read -r line; do
  path=\${line#*  }
  case "$names" in *" \${path%%/*} "*) printf '%s\\n' "$line" >&5 ;; *) printf '%s\\n' "$line" >&6 ;; esac
done < "$old" 5> "$stage/.theirs" 6> "$stage/.others"
cut -c 67- -- "$stage/.theirs" | sort -u > "$stage/.before"
minus "$stage/.before" "$stage/.paths" > "$stage/.gone"
cat -- "$stage/.paths" "$stage/.gone" | look > "$stage/.now"
both "$old" "$stage/.now" > "$stage/.ours"
minus "$stage/.ours" "$new" | cut -c 67- > "$stage/.stale"

both "$stage/.paths" "$stage/.stale" | while IFS= read -r path; do
  [ ! -f "$stage/$path" ] || mv -fT -- "$stage/$path" "$path" || exit 46
done || exit
while IFS= read -r path; do
  [ -f "$stage/$path" ] && [ ! -e "$path" ] && [ ! -L "$path" ] && open_way "$path" || continue
  [ -d "\${path%/*}" ] || mkdir -p -- "\${path%/*}" || exit 46
  mv -nT -- "$stage/$path" "$path" || exit 46
done < "$stage/.paths"
both "$stage/.gone" "$stage/.stale" | while IFS= read -r path; do
  rm -f -- "$path"
  folder=\${path%/*}
  while rmdir -- "$folder" 2>/dev/null; do
    case "$folder" in */*) folder=\${folder%/*} ;; *) break ;; esac
  done
done

look < "$stage/.paths" > "$stage/.now"
both "$new" "$stage/.now" > "$stage/.placed"
sort -u -- "$stage/.others" "$stage/.placed" > "$stage/.list" || exit 46
keep_list
cut -c 67- -- "$stage/.placed" > "$stage/.placed-paths"
minus "$stage/.paths" "$stage/.placed-paths"
`;

interface PlaceSkillsDeps {
  readonly records: Pick<Records, 'skills' | 'sandboxes'>;
  readonly provider: Pick<SandboxProvider, 'exec'>;
}

/** The longest that placing may take, in milliseconds: tens of megabytes on a slow disk. */
const WITHIN_MS = 120_000;
/** Of the names of files that were kept, in characters; the rest is not told. */
const MAX_OUTPUT = 262_144;
const MOST_KEPT = 100;

/**
 * Lays the skills that a sandbox was made with below `/workspace/skills`, as they are now, and
 * writes down what came of it. One that lies there as it is costs nothing. Files that are not as
 * they were placed are the user's: they stay, and are told.
 * @throws PortholeError `skill_not_found`, `workspace_archive_write_error`, and what `exec` refuses
 */
export async function placeSkills(
  { records, provider }: PlaceSkillsDeps,
  sandbox: SandboxRecord,
  signal?: AbortSignal,
): Promise<readonly SandboxSkill[]> {
  const names = sandbox.skills.map(({ name }) => name);
  const found = await requireSkills({ records }, sandbox.owner, names);
  return replaceStale({ records, provider }, sandbox, found, signal);
}

/**
 * The same for a sandbox that has been in use: what is not there any more stays as it was placed.
 */
async function refreshSkills(
  { records, provider }: PlaceSkillsDeps,
  sandbox: SandboxRecord,
  signal?: AbortSignal,
): Promise<readonly SandboxSkill[]> {
  const names = sandbox.skills.map(({ name }) => name);
  const found = await records.skills.find(sandbox.owner, names);
  return replaceStale({ records, provider }, sandbox, found, signal);
}

async function replaceStale(
  { records, provider }: PlaceSkillsDeps,
  sandbox: SandboxRecord,
  found: readonly { readonly name: string; readonly digest: string }[],
  signal: AbortSignal | undefined,
): Promise<readonly SandboxSkill[]> {
  const stale = found.filter(
    ({ name, digest }) => sandbox.skills.find((skill) => skill.name === name)?.digest !== digest,
  );
  if (stale.length === 0) return sandbox.skills;
  const packed = await records.skills.load(
    sandbox.owner,
    stale.map(({ name }) => name),
  );
  const kept = await lay(provider, sandbox.id, packed, signal);
  const skills = sandbox.skills.map((skill) => {
    const placed = packed.find(({ name }) => name === skill.name);
    if (placed === undefined) return skill;
    const own = kept.filter((path) => path.startsWith(`${skill.name}/`)).slice(0, MOST_KEPT);
    return { name: skill.name, digest: placed.digest, kept: own };
  });
  await records.sandboxes.setSkills(sandbox, skills);
  return skills;
}

/** Returns the paths of what was kept. */
async function lay(
  provider: Pick<SandboxProvider, 'exec'>,
  sandboxId: string,
  skills: readonly PackedSkill[],
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const hidden = [randomBytes(8).toString('hex'), randomBytes(8).toString('hex')];
  const names = ` ${skills.map(({ name }) => name).join(' ')} `;
  // Without the signal: it would kill the script before its trap has removed what it has made.
  const process = await provider.exec(sandboxId, {
    argv: ['sh', '-c', PLACE_SKILLS, 'sh', ...hidden, names],
    stdin: true,
  });
  const late = setTimeout(() => process.kill('SIGKILL'), WITHIN_MS);
  let output = '';
  process.stdout.setEncoding('utf8');
  process.stdout.on('data', (piece: string) => {
    if (output.length < MAX_OUTPUT) output += piece;
  });
  try {
    await feedScript(
      process,
      Readable.from(skillsArchive(skills)),
      (script) => script.failure('/workspace/skills', 'workspace_archive_write_error', 'skills not placed'),
      signal,
    );
  } finally {
    clearTimeout(late);
  }
  return output.split('\n').slice(0, -1);
}

interface SkilledProviderDeps {
  readonly records: Pick<Records, 'sandboxes' | 'skills'>;
  /** Told of a sandbox whose skills could not be refreshed: it has those that it had. */
  readonly failed: (sandboxId: string, error: unknown) => void;
}

/**
 * A provider that brings a sandbox's skills up to date when it starts again, whoever asked for
 * that.
 */
export function skilledProvider(
  provider: SandboxProvider,
  { records, failed }: SkilledProviderDeps,
): SandboxProvider {
  return changedProvider(provider, {
    async resume(id, signal) {
      await provider.resume(id, signal);
      try {
        const sandbox = await records.sandboxes.get(id);
        if (sandbox !== undefined && sandbox.skills.length > 0) {
          await refreshSkills({ records, provider }, sandbox, signal);
        }
      } catch (error) {
        signal?.throwIfAborted();
        failed(id, error);
      }
    },
  });
}
