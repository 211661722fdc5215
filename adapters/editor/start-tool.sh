# start-tool.sh RUN MEMORY COMMAND…: starts a tool in the session's folder, with the run's folder as
# the command's last argument. Stdin is the request. MEMORY limits each process, in KiB: on data and
# not on address space, because Node reserves many gigabytes of address space.
cd -P -- "${WORKSPACE:-/workspace}" || exit 170
folder=$PWD/runs/$1
mkdir -p -- "$PWD/session" "$folder/inputs" && cat > "$folder/request.json" || exit 170
command -v "$3" >/dev/null 2>&1 || exit 169
cd -- "$PWD/session" && ulimit -c 0 && ulimit -d "$2" || exit 170
shift 2
exec "$@" "$folder" </dev/null
