#!/usr/bin/env bash
# Seeds for the fuzz targets, from recorded kernels: fuzz/seeds.sh CORPUS LUISAC
# CORPUS is a folder like ../shared/corpus, LUISAC a built luisac with a target that writes metadata.
set -eu
corpus=$1 luisac=$2 here=$(cd "$(dirname "$0")" && pwd)
for target in json binary text metadata; do mkdir -p "$here/corpus/$target"; done
# Long inputs slow the fuzzer down and show nothing that short ones do not.
find "$corpus"/own "$corpus"/bugs "$corpus"/luisa -name '*.json' ! -name '*.expect.json' -size -32k | sort | while read -r file; do
  name=$(basename "$(dirname "$file")")-$(basename "$file" .json)
  cp "$file" "$here/corpus/json/$name"
  "$luisac" opt "$file" -o "$here/corpus/text/$name" 2>/dev/null || true
  "$luisac" compile "$file" --target cpu:x86-64-v3 -o "$here/corpus/o.o" 2>/dev/null || true
  if [ -f "$here/corpus/o.cpu.json" ]; then mv "$here/corpus/o.cpu.json" "$here/corpus/metadata/$name"; fi
  rm -f "$here/corpus/o.o"
done
cp "$corpus"/callable-libraries/*.bin "$here/corpus/binary/"
wc -l < <(find "$here/corpus" -type f) | xargs echo "seeds:"
