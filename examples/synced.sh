#!/bin/sh
# Waits until the search index has all that was committed to PostgreSQL before, and shows it to searches.
#
#   synced.sh [http://127.0.0.1:9101] [TIMEOUT_MS]
#
# CDC_API_TOKEN holds the token of [api] token_env, if there is one. Needs curl and `[api] enabled = true`.
set -eu
api=${1:-http://127.0.0.1:9101} timeout=${2:-5000}
if [ -n "${CDC_API_TOKEN:-}" ]; then
  # From standard input, so that it stands in no list of processes.
  printf 'header = "Authorization: Bearer %s"\n' "$CDC_API_TOKEN" |
    curl --silent --show-error --fail-with-body --config - "$api/synced?timeout=$timeout&refresh=true"
else
  curl --silent --show-error --fail-with-body "$api/synced?timeout=$timeout&refresh=true"
fi
