#!/bin/sh
# Fuzzes every target for a bounded time: fuzz/run.sh [SECONDS]. Without the tools for it, it says so and does nothing.
set -eu
cd "$(dirname "$0")"
seconds=${1:-20}

skip() {
    echo "fuzzing was skipped: $1"
    exit 0
}

command -v rustup >/dev/null 2>&1 || skip "there is no rustup to run a nightly toolchain with"
rustup run nightly rustc --version >/dev/null 2>&1 ||
    skip "there is no nightly toolchain; \`rustup toolchain install nightly\` brings one"
if ! command -v cargo-fuzz >/dev/null 2>&1; then
    echo "installing cargo-fuzz, once"
    cargo install --quiet --locked cargo-fuzz@^0.13 || skip "cargo-fuzz could not be installed"
fi

transcripts=../crates/doors/src/lark/transcripts
snek_transcripts=../crates/doors/src/snek/transcripts

# Every client frame of the transcripts, and every transcript as a whole, is where the search begins.
seed() {
    mkdir -p corpus/envelope corpus/snek_call corpus/session corpus/record_decode corpus/chopsticks corpus/smarthole corpus/action
    cp ../crates/doors/src/chopsticks/transcripts/*.txt corpus/chopsticks/
    # There, a line that begins with a space continues the one before it.
    for transcript in ../crates/doors/src/smarthole/transcripts/*.txt; do
        sed -e ':join' -e '$!{N;bjoin' -e '}' -e 's/\n  */ /g' "$transcript" >"corpus/smarthole/${transcript##*/}"
    done
    cp "$transcripts"/*.txt corpus/session/
    for transcript in "$snek_transcripts"/*.txt; do
        sed 's/^LOGIN \([a-z]*\)$/LOGIN \1 snek/' "$transcript" >"corpus/session/snek-${transcript##*/}"
    done
    seed_frames "$transcripts" envelope
    seed_frames "$snek_transcripts" snek_call
    cp seeds/*.json corpus/record_decode/
    # Every line of the reader's own tests.
    sed -n 's/^        "\(.*\)",$/\1/p' ../crates/action/src/shell/tests.rs | {
        number=0
        while IFS= read -r line; do
            number=$((number + 1))
            printf '%b' "$line" >"corpus/action/line-$number"
        done
    }
}

seed_frames() {
    sed -n 's/^C [a-z]*: \({.*}\)$/\1/p' "$1"/*.txt | {
        number=0
        while IFS= read -r frame; do
            number=$((number + 1))
            printf '%s' "$frame" >"corpus/$2/transcript-$number"
        done
    }
}

# What libFuzzer says is worth reading only when it found something.
fuzz() {
    echo "fuzzing $1 for $seconds s"
    if cargo +nightly fuzz run --fuzz-dir . "$1" -- \
        -max_total_time="$seconds" -max_len=8192 -timeout=10 -dict=lark.dict >"artifacts/$1.log" 2>&1; then
        grep DONE "artifacts/$1.log" || true
    else
        cat "artifacts/$1.log"
        echo "error: fuzzing $1 found something; the input is in fuzz/artifacts/$1" >&2
        exit 1
    fi
}

seed
mkdir -p artifacts
cargo +nightly fuzz build --fuzz-dir .
for target in envelope snek_call session record_decode chopsticks smarthole action; do
    fuzz "$target"
done
