# end-tool.sh RUN MARK: kills the background processes of a run, which have MARK in their
# environment, and removes its files. Repeatedly, because they may fork. Runs of a sandbox are
# sequential, so no other run is affected.
for again in 1 2 3 4 5 6 7 8 9 10; do
  left=
  for file in $(grep -lzxF -- "$2" /proc/[0-9]*/environ 2>/dev/null); do
    file=${file#/proc/}
    left="$left ${file%/environ}"
  done
  [ -n "$left" ] || break
  kill -KILL $left 2>/dev/null
done
cd -P -- "${WORKSPACE:-/workspace}" && rm -rf -- "./runs/$1"
