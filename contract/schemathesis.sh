#!/bin/sh
# Lets schemathesis try every operation of the hub at MOOT_URL, two thirds of the time as its owner and the rest as an
# agent, what agents do: schemathesis.sh TOOLS SECONDS
set -u
cd "$(dirname "$0")" || exit 1
tools=$1 seconds=$2 status=0

try() {
    MOOT_CALLER=$1 who=$2 share=$3
    shift 3
    export MOOT_CALLER
    "$tools/venv/bin/schemathesis" --config-file schemathesis.toml run "$MOOT_URL/openapi.json" \
        --max-time "$share" --continue-on-failure --request-timeout 30 \
        --report junit --report-junit-path "$tools/schemathesis-$who.xml" "$@" || status=1
}

try "$MOOT_KEY" owner $((seconds * 2 / 3))
try "$MOOT_AGENT_KEY" agent $((seconds / 3)) --include-path-regex '^/v1/(agents|drafts|deliveries|runs|reviews|tasks|channels)'
exit $status
