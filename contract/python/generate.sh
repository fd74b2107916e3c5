#!/bin/sh
# Generates a Python client from docs/openapi.json and checks its types and the calls made with it: generate.sh TOOLS
set -eu
cd "$(dirname "$0")"
place=$1/python
rm -rf "$place"
mkdir -p "$place"
"$1/venv/bin/openapi-python-client" generate --path ../../docs/openapi.json --meta none --config config.yaml \
    --output-path "$place/folkmoot_client" --fail-on-warning
"$1/venv/bin/pip" install -q --disable-pip-version-check httpx attrs python-dateutil types-python-dateutil
"$1/venv/bin/python" -m compileall -q "$place/folkmoot_client"
# Where a body is one of two types the generator forgets an import; the file still runs.
MYPYPATH=$place "$1/venv/bin/mypy" --strict --cache-dir "$1/mypy" --exclude 'post_members_me_avatar' \
    calls.py "$place/folkmoot_client"
