#!/bin/sh
# Modules by how many of their lines have a word of the question: lines, tab, path; the best K.
# Usage: sh search.sh CORPUS QUESTION K
words=$(printf '%s' "$2" | tr -cs 'A-Za-z0-9_' '\n' | awk 'length > 3 && length < 40' | sort -u)
[ -n "$words" ] || exit 0
if command -v rg > /dev/null; then
    count() { rg --no-config --no-ignore --hidden --text --count -iFf - -- "$1"; }
else
    count() { grep -rciFf - -- "$1" | grep -v ':0$'; }
fi
printf '%s\n' "$words" | count "$1" |
    awk -F : '{ lines = $NF; sub(/:[0-9]+$/, ""); print lines "\t" $0 }' |
    sort -k 1,1nr -k 2 | head -n "$3"
