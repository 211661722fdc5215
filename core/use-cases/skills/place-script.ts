import { IN_WORKSPACE } from '../workspace-script.ts';

/**
 * Lays skills below the workspace. The input is a tar of `.new`, the files as they are to be (`sha256  path`), and the files themselves; its last line is `whole`. `$1` and `$2` are names that nobody
 * knows, `$3` the names of the skills, a space around each. Prints the files that are not as they are to be, because somebody has changed them.
 *
 * What was placed is known by `skills/.porthole`, a list of the same kind: what is still as it stands there is ours, may be replaced, and goes when its skill has it no more. Everything else is the user's. Before
 * anything is touched the list has the old and the new, so that a script that is killed leaves nothing of ours that looks like the user's. Nothing is written through a link.
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
