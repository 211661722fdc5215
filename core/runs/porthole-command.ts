/**
 * `porthole`, the command in a sandbox: POSIX sh and curl. It reads where to call and as whom from
 * the file that a run's start left for it, so that no token is in an environment; curl gets it on
 * its stdin, so that none is in a command line. For sandboxes without a guest, which brings its own
 * (`guest/command`).
 */
export const PORTHOLE_COMMAND = `#!/bin/sh
# porthole: shows servers of this sandbox to people.
newline='
'

usage() {
  cat <<'END'
usage: porthole preview PORT   open a live preview of a port and print its URL; a person may have to approve it, within five minutes
       porthole stop PORT      end the preview of a port; its URL stops working for good
       porthole status         list the live previews, one line each: port, URL
       porthole doctor PORT    say whether a preview of a port shows the server, and what to do if not
exits: 0 done, 1 refused, 2 wrong usage, 3 a person denied it, 4 nobody decided in time, 5 Porthole cannot be reached
With several runs in one sandbox, PORTHOLE_RUN names the one to act for; without it the newest does.
END
}

complain() { printf 'porthole: %s\\n' "$1" >&2; }

fail() { complain "$2"; exit "$1"; }

# Sets run, token and where to call, from the file of a run.
read_access() {
  file=
  if [ -n "\${PORTHOLE_RUN:-}" ]; then
    file=$HOME/.porthole/runs/$PORTHOLE_RUN
  else
    # Ids sort by the time they were made.
    for each in "\${HOME:-}"/.porthole/runs/*; do [ -f "$each" ] && file=$each; done
  fi
  [ -r "$file" ] || fail 5 'no run is at work in this sandbox, or Porthole has no channel to it.'
  run= token= socket= url=
  while IFS='=' read -r key value; do
    case $key in
      run) run=$value ;;
      token) token=$value ;;
      socket) socket=$value ;;
      url) url=$value ;;
    esac
  done <"$file"
}

# request METHOD PATH [BODY]: sets status and body; fails as curl does where there is no answer.
request() {
  answer=$(
    {
      printf 'header = "Authorization: Bearer %s"\\n' "$token"
      printf 'url = "%s/api/runs/%s/sandbox/%s"\\n' "\${url:-http://porthole}" "$run" "$2"
      [ -z "$socket" ] || printf 'unix-socket = "%s"\\n' "\${socket##*/}"
      if [ -n "\${3:-}" ]; then
        printf 'header = "Content-Type: application/json"\\n'
        printf 'data = "{\\\\"target_port\\\\": %s}"\\n' "$3"
      fi
    } | {
      # A socket's address is short, so it is named from its own folder.
      [ -z "$socket" ] || cd "\${socket%/*}" || exit 7
      curl -q --config - --silent --noproxy '*' --request "$1" --connect-timeout 10 --max-time 400 --write-out '\\n%{http_code}'
    }
  ) || return
  status=\${answer##*"$newline"}
  body=\${answer%"$newline"*}
}

# call METHOD PATH [BODY]: a request that outlives Porthole's being away for a moment: it answers a repeated one as it would have answered the first.
call() {
  for try in 1 1 2 2 4 4 4 last; do
    if request "$@"; then [ "$status" != 503 ] && return; fi
    [ "$try" = last ] || sleep "$try"
  done
  fail 5 'Porthole cannot be reached. Try again later.'
}

# field NAME: a text of the answer. It is one line of JSON.
field() {
  printf '%s\\n' "$body" | sed -nE 's/.*"'"$1"'":"(([^"\\\\]|\\\\.)*)".*/\\1/p' | sed -e 's/\\\\"/"/g' -e 's/\\\\\\\\/\\\\/g'
}

refused() {
  case $(field code) in
    approval_denied) code=3 ;;
    approval_timed_out) code=4 ;;
    *) code=1 ;;
  esac
  reason=$(field error)
  fail "$code" "\${reason:-refused with status $status}"
}

# previews: of the answer, a line 'port session local-port URL' for each; no URL where there is none.
previews() {
  printf '%s\\n' "$body" | tr '{' '\\n' | sed -nE \\
    's/^"session_id":"([a-z0-9-]+)","local_port":([0-9]+),"target_port":([0-9]+),.*"preview_url":("([^"]*)"|null).*/\\3 \\1 \\2 \\5/p'
}

command=\${1:-}
port=\${2:-}
case $command in
  preview | stop | doctor)
    case $port in
      '' | *[!0-9]* | ??????*) usage >&2; exit 2 ;;
    esac ;;
  status) ;;
  help | -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac
command -v curl >/dev/null 2>&1 || fail 5 'curl is missing in this sandbox: install it, or have the image bring it.'
read_access
isDark= reason=

case $command in
  preview)
    call POST preview "$port"
    [ "$status" = 200 ] || refused
    case $body in
      *'"ready":true'*) ;;
      *) isDark=yes ;;
    esac
    previews | while read -r _ _ local address; do printf '%s\\n' "\${address:-http://preview-$local.localhost:$local/}"; done
    if [ -n "$isDark" ]; then
      request GET "doctor?port=$port" || status=
      [ "$status" = 200 ] && reason=$(field advice)
      complain "the preview is live, but does not show the server yet. $reason"
    fi ;;
  stop)
    call GET port-forward
    [ "$status" = 200 ] || refused
    session=$(previews | while read -r at session _; do [ "$at" != "$port" ] || echo "$session"; done)
    [ -n "$session" ] || fail 1 "port $port has no live preview."
    call DELETE "port-forward/$session"
    [ "$status" = 200 ] || refused
    printf 'The preview of port %s is stopped.\\n' "$port" ;;
  status)
    call GET port-forward
    [ "$status" = 200 ] || refused
    previews | while read -r at _ local address; do printf '%s %s\\n' "$at" "\${address:-http://preview-$local.localhost:$local/}"; done ;;
  doctor)
    call GET "doctor?port=$port"
    [ "$status" = 200 ] || refused
    field advice
    case $body in *'"ready":true'*) ;; *) exit 1 ;; esac ;;
esac
exit 0
`;
