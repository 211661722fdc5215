#!/bin/sh
# Becomes s3fs, as an ordinary user without capabilities, for a file system that is already mounted.
# Descriptor 3 is /dev/fuse. Runs as root in a new mount namespace with private propagation.
#   serve-bucket.sh OWN USER NODE HELPER ADDON -- s3fs ARGUMENT...
# OWN is a folder that none of the files is in. libfuse asks fusermount for a mounted file system:
# here it finds `fusermount.sh`, which sends descriptor 3.
set -eu
own=$1 user=$2 node=$3 helper=$4 addon=$5
shift 6
mount -t tmpfs -o nosuid,nodev,mode=0755,size=1m tmpfs "$own"

place() {
  : >"$own/$2"
  mount --bind "$1" "$own/$2"
}
place "$node" node
place "$addon" calls.node
install -m 0644 "$helper" "$own/launch-helper.mts"
install -m 0755 "${0%/*}/fusermount.sh" "$own/fusermount"
# libfuse prefers its own path to PATH.
for program in /bin/fusermount /usr/bin/fusermount /usr/bin/fusermount3; do
  if [ -e "$program" ]; then mount --bind "$own/fusermount" "$program"; fi
done
mkdir "$own/bucket"
chown "$user:$user" "$own/bucket"
cd "$own"
export PORTHOLE_MOUNT_FOLDER="$own" PATH="$own:$PATH"
exec setpriv --reuid "$user" --regid "$user" --clear-groups --inh-caps=-all --bounding-set=-all \
  --no-new-privs --pdeathsig KILL -- "$@"
