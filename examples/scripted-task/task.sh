set -eu
porthole=${PORTHOLE_URL:-http://127.0.0.1:8787}
field() { sed "s/.*\"$1\":\"\([^\"]*\)\".*/\1/"; }
call() {
  method=$1 path=$2
  shift 2
  curl -sS --fail-with-body -X "$method" -H @- "$porthole$path" "$@" <<HEADERS
${PORTHOLE_API_KEY:+Authorization: Bearer $PORTHOLE_API_KEY}
HEADERS
}
json='Content-Type: application/json'

run=$(call POST /api/runs)
api=/api/runs/$(echo "$run" | field run_id)/sandbox
sandbox=/v1/sandbox/$(echo "$run" | field sandbox_id)
call PUT "$sandbox/file/workspace/package.json" --data-binary '{"name": "app"}'
call PUT "$sandbox/file/workspace/app.js" --data-binary 'serve('
call POST "$sandbox/exec" -H "$json" -d '{"argv": ["npm", "install"]}'
call PUT "$sandbox/servers/web" -H "$json" -d '{"command": "node app.js", "port": 3000, "restart": "never"}'
call POST "$api/port-forward" -H "$json" -d '{"target_port": 3000}'
call GET "$sandbox/servers/web/logs"
call PUT "$sandbox/file/workspace/app.js" \
  --data-binary "require('http').createServer((_, answer) => answer.end('Hello')).listen(3000)"
call POST "$sandbox/servers/web/restart"
call POST "$api/port-forward" -H "$json" -d '{"target_port": 3000}' | field preview_url
