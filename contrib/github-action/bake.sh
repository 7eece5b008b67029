#!/bin/sh
# Bakes MANIFEST, or with MODE=check only looks whether that would change anything. Ends as luisac does. Findings go to the file SARIF,
# if there is one; counts to GITHUB_OUTPUT and GITHUB_STEP_SUMMARY.
set -eu

messages=$(mktemp)
trap 'rm -f "$messages"' EXIT
status=0
case "$MODE" in
    bake) flag= ;;
    check) flag=--check ;;
    *) echo "the mode is \`bake\` or \`check\`, not \`$MODE\`" >&2; exit 2 ;;
esac

# Words of LINTS are flags: they are meant to be split.
# shellcheck disable=SC2086
luisac bake "$MANIFEST" $flag ${LINTS:-} ${SARIF:+--sarif "$SARIF"} --color never 2> "$messages" || status=$?
cat "$messages" >&2

# `12 jobs: 3 compiled, 9 from the cache, 0 unchanged, 0 failed; ...`
count() { sed -n "s/^[0-9]* jobs:.* \([0-9][0-9]*\) $1.*/\1/p" "$messages" | tail -n 1; }
if [ -n "${GITHUB_OUTPUT:-}" ]; then
    {
        echo "compiled=$(count compiled)"
        echo "cached=$(count 'from the cache')"
        echo "failed=$(count failed)"
    } >> "$GITHUB_OUTPUT"
fi
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    {
        echo "### luisac"
        echo '```'
        grep -E '^([0-9]+ jobs:|failed: |out of date: )' "$messages" || echo "nothing is out of date"
        echo '```'
    } >> "$GITHUB_STEP_SUMMARY"
fi

exit "$status"
