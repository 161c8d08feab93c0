# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# Read before every case (by BASH_ENV). Commands are shown as they are run, and their exit status unless it is 0.

# show CMD...: runs it, with what it says on standard error in its place
show() {
    printf '$ %s\n' "$*"
    "$@" 2>&1
    local status=$?
    if [[ $status -ne 0 ]]; then echo "[$status]"; fi
}

# steady: what a report says, without how long things took
steady() {
    sed -E 's/"(sum|p50|p99)":[0-9.e-]+/"\1":*/g'
}

tree() {
    find . -type f -exec sha256sum {} + | sort
    find . ! -type f -printf '%y %p\n' | sort
}

# refuse CMD...: shows it, too; and says so unless it exits with 2, one line on standard error, nothing on standard
# output, and a directory that is as it was
refuse() {
    local before after status lines
    before=$(tree)
    printf '$ %s\n' "$(printf '%q ' "$@" | sed -E 's/ $//; s/x{200,}/xxx.../g')"
    "$@" >"$SCRATCH/stdout" 2>"$SCRATCH/stderr"
    status=$?
    after=$(tree)
    sed -E 's/x{200,}/xxx.../g' "$SCRATCH/stderr"
    lines=$(wc -l <"$SCRATCH/stderr")
    if [[ $status -ne 2 ]]; then echo "EXIT STATUS $status"; fi
    if [[ $lines -ne 1 ]]; then echo "$lines LINES ON STANDARD ERROR"; fi
    if [[ -s $SCRATCH/stdout ]]; then echo "ON STANDARD OUTPUT: $(cat "$SCRATCH/stdout")"; fi
    if [[ $before != "$after" ]]; then diff <(echo "$before") <(echo "$after"); fi
    rm -f "$SCRATCH/stdout" "$SCRATCH/stderr"
}
