#!/bin/sh
# Autobahn|Testsuite's fuzzing client against the echo server over the hub's WebSocket layer; see docs/conformance.md.
#
# The test suite is a program for Python 2.7. It is looked for as $PYTHON2, `python2.7`, or among the versions of pyenv, and is
# installed from PyPI into target/autobahn, nowhere else.
set -eu
version=25.10.1
root=$(cd "$(dirname "$0")/../../../.." && pwd)
folder=$root/target/autobahn
echo_server=${1:?the echo server, as "make autobahn" builds it}

for candidate in "${PYTHON2:-}" python2.7 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/2.7*/bin/python2.7; do
	if [ -n "$candidate" ] && "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (2, 7))' 2>/dev/null; then
		python=$candidate
		break
	fi
done
if [ -z "${python:-}" ]; then
	echo "error: there is no Python 2.7, which Autobahn|Testsuite needs" >&2
	echo "hint: install one (pyenv install 2.7.18) and name it with PYTHON2=/path/to/python2.7" >&2
	exit 1
fi

mkdir -p "$folder"
if [ ! -f "$folder/installed-$version" ]; then
	"$python" -m pip install --quiet --disable-pip-version-check --target "$folder/site" "autobahntestsuite==$version" 2>"$folder/install.log" || {
		tail -5 "$folder/install.log" >&2
		echo "error: autobahntestsuite $version could not be installed from PyPI" >&2
		exit 1
	}
	touch "$folder/installed-$version"
fi

rm -f "$folder/address"
"$echo_server" >"$folder/address" 2>"$folder/echo.log" &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
until [ -s "$folder/address" ] 2>/dev/null; do
	kill -0 $server 2>/dev/null || { cat "$folder/echo.log" >&2; exit 1; }
	sleep 0.1
done

# 9.* are performance, 12.* and 13.* compression, which no door of the hub offers.
cat >"$folder/fuzzingclient.json" <<JSON
{ "outdir": "$folder/reports", "servers": [{ "agent": "folkmoot", "url": "$(cat "$folder/address")" }],
  "cases": ["${CASES:-*}"], "exclude-cases": ["9.*", "12.*", "13.*"], "exclude-agent-cases": {} }
JSON
rm -rf "$folder/reports"
cd "$folder"
# As a folder of packages, not only of modules: one of them is spread over several folders.
wstest='import site, sys; site.addsitedir(sys.argv.pop(1)); from autobahntestsuite.wstest import run; run()'
"$python" -c "$wstest" "$folder/site" -m fuzzingclient -s "$folder/fuzzingclient.json" >"$folder/run.log" 2>&1 || {
	tail -20 "$folder/run.log" >&2
	exit 1
}
"$python" "$root/crates/hub/tests/autobahn/judge.py" "$folder/reports/index.json"
