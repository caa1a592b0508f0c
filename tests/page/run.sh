#!/usr/bin/env bash
# Drives the page in a real Chromium. Needs Go, and chromium on PATH or named by CHROMIUM
# (Debian: apt-get install --no-install-recommends chromium fonts-dejavu-core).
#   MYNAH_SHOTS=FOLDER  keeps pictures of the page      MYNAH_SOAK=1  plays for 20 minutes as well
set -euo pipefail
cd "$(dirname "$0")"
go vet .
go test -count=1 -timeout 50m "$@" .
