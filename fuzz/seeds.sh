#!/usr/bin/env bash
# Seeds for the fuzz targets, from recorded kernels: fuzz/seeds.sh CORPUS LUISAC [OUT]
# CORPUS is a folder like ../shared/corpus, LUISAC a built luisac with a target that writes metadata, OUT where the seeds go,
# a folder for each target (fuzz/corpus).
set -eu
corpus=$1 luisac=$2 here=$(cd "$(dirname "$0")" && pwd)
out=${3:-$here/corpus}
for target in json binary text metadata archive; do mkdir -p "$out/$target"; done
# Long inputs slow the fuzzer down and show nothing that short ones do not.
find "$corpus"/own "$corpus"/bugs "$corpus"/luisa "$here"/../fixtures -name '*.json' ! -name '*.expect.json' -size -32k |
  sort | while read -r file; do
  name=$(basename "$(dirname "$file")")-$(basename "$file" .json)
  cp "$file" "$out/json/$name"
  "$luisac" opt "$file" -q -o "$out/text/$name" 2>/dev/null || true
  # The code in an archive is bytes to its reader, so the smallest will do.
  if "$luisac" compile "$file" -q --cache off --target msl -o "$out/o.luisa" 2>/dev/null; then
    if [ "$(wc -c < "$out/o.luisa")" -lt 16000 ]; then cp "$out/o.luisa" "$out/archive/$name"; fi
  fi
  if "$luisac" compile "$file" -q --cache off --target msl -o "$out/o.metal" 2>/dev/null; then
    for metadata in "$out"/*.msl.json; do mv "$metadata" "$out/metadata/$name"; done
  fi
  rm -f "$out"/o.*
done
cp "$corpus"/callable-libraries/*.bin "$here"/../fixtures/*.bin "$out/binary/"
find "$out" -type f | wc -l | xargs echo "seeds:"
