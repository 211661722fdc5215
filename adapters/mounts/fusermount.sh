#!/bin/sh
# Replaces fusermount for s3fs: the file system is mounted, and libfuse gets its descriptor.
# Without _FUSE_COMMFD libfuse asks to unmount, which the mount supervisor does.
if [ -z "${_FUSE_COMMFD:-}" ]; then exit 0; fi
folder=$PORTHOLE_MOUNT_FOLDER
exec "$folder/node" --disable-sigusr1 "$folder/launch-helper.mts" send "$_FUSE_COMMFD" 3
