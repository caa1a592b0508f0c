#!/usr/bin/env bash
# Clients that others made, unmodified, against a running `mynah serve` with the
# built-in voice: OpenAI's for Python and for JavaScript, ElevenLabs' and Wyoming's for
# Python, and a WebSocket client.
# Needs Go, Python 3.11 or later with venv, npm, ffmpeg, and the registries of Python
# and npm when a pinned version is not here yet. Leaves .venv and node_modules.
set -euo pipefail
cd "$(dirname "$0")"

node_version=22.23.5 # OpenAI's client asks for 22; taken from npm if the machine's is older

fail() { printf 'tests/clients: %s\n' "$1" >&2; exit 1; }
for program in go python3 npm ffmpeg; do
  command -v "$program" >/dev/null || fail "$program is not installed"
done

install_python() {
  [ -x .venv/bin/python ] || python3 -m venv .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
}
install_python || fail "the packages of requirements.txt could not be installed"

npm ci --no-audit --no-fund --loglevel error || fail "the packages of package.json could not be installed"
node=node
if ! node -e 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' 2>/dev/null; then
  case $(uname -m) in
    x86_64) platform=linux-x64 ;;
    aarch64) platform=linux-arm64 ;;
    *) fail "Node.js 22 or later is not installed" ;;
  esac
  npm install --no-save --no-package-lock --no-audit --no-fund --loglevel error "node-$platform@$node_version" ||
    fail "Node.js $node_version could not be installed"
  node=$PWD/node_modules/node-$platform/bin/node
fi

work=$(mktemp -d)
servers=()
cleanup() {
  for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap cleanup EXIT
(cd ../.. && CGO_ENABLED=0 go build -o "$work/mynah" ./cmd/mynah)
unset "${!MYNAH_@}" # settings of whoever runs this
export MYNAH_CACHE=$work/cache XDG_CONFIG_HOME=$work/config

# serve starts a server and sets url to where it listens.
serve() { # name flags…
  local log=$work/$1.log
  : >"$log"
  "$work/mynah" serve --addr 127.0.0.1:0 "${@:2}" 2>"$log" &
  servers+=($!)
  for _ in $(seq 600); do
    if grep -q '^mynah: ready' "$log"; then
      url=$(sed -n 's/.*listening on \(https*:[^ ,]*\).*/\1/p' "$log")
      return
    fi
    kill -0 "${servers[-1]}" 2>/dev/null || break
    sleep 0.1
  done
  cat "$log" >&2
  fail "the server did not start"
}

serve open --voice-map openai=lark --wyoming 127.0.0.1:0
export CLIENTS_URL=$url
CLIENTS_WYOMING=$(sed -n 's/.*Wyoming listener on tcp:\/\/\([^ ,]*\).*/\1/p' "$work/open.log")
export CLIENTS_WYOMING
# ElevenLabs' client opens WebSockets with TLS alone.
(cd "$work" && go run "$(go env GOROOT)/src/crypto/tls/generate_cert.go" --host 127.0.0.1 2>/dev/null) || fail "no certificate could be made"
export SSL_CERT_FILE=$work/cert.pem
serve tls --tls-cert "$work/cert.pem" --tls-key "$work/key.pem"
export CLIENTS_TLS_URL=$url
# One listener and no queue, so that a second is refused.
serve narrow --max-live 1 --max-queue -1 --api-keys sk-test,sk-other
export CLIENTS_NARROW_URL=$url

.venv/bin/python -W error::DeprecationWarning -m unittest discover --buffer
"$node" --test --test-reporter=spec client_openai.test.mjs

for log in "$work"/*.log; do
  if grep -E 'panic|DATA RACE|internal_error| 500 ' "$log"; then fail "the server's log has failures"; fi
done
# Both end in order when they are asked to.
for pid in "${servers[@]}"; do
  kill -TERM "$pid"
  wait "$pid" || fail "a server ended with exit code $?"
done
servers=()
echo "tests/clients: passed"
