# What the step scripts share: naming a step, running it with its log, and saying what to do when it fails.
# Sourced by bash; the caller's working folder is the repository's root.
set -euo pipefail
QUERN_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$QUERN_ROOT"
LOGS=build/logs
VENV=.venv
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONUNBUFFERED=1

say() { printf '%s\n' "quern: $*"; }

# fail STEP WHY CURE: the three things that a person needs, and out.
fail() {
    {
        printf '\nquern: step "%s" failed.\n' "$1"
        printf '  why:   %s\n' "$2"
        printf '  to do: %s\n' "$3"
    } >&2
    exit 1
}

# logged NAME COMMAND...: runs the command with its output in build/logs/NAME.log, a line of progress meanwhile, and
# returns its status.
logged() {
    local name=$1 status=0 began=$SECONDS shown=$SECONDS line
    shift
    mkdir -p "$LOGS"
    local log=$LOGS/$name.log
    printf '+ %s\n' "$*" >"$log"
    "$@" >>"$log" 2>&1 </dev/null &
    local child=$!
    trap 'kill $child 2>/dev/null; exit 130' INT TERM
    while kill -0 "$child" 2>/dev/null; do
        sleep 0.2
        if [[ -t 1 ]] && ((SECONDS > shown)); then
            shown=$SECONDS
            line=$(tail -n 1 "$log" | tr -d '\r' | cut -c1-90)
            printf '\r\033[Kquern: %s (%d s) %s' "$name" $((SECONDS - began)) "$line"
        elif ((SECONDS >= shown + 60)); then
            shown=$SECONDS
            say "$name: $((SECONDS - began)) s so far: $(tail -n 1 "$log" | cut -c1-100)"
        fi
    done
    wait "$child" || status=$?
    trap - INT TERM
    [[ -t 1 ]] && printf '\r\033[K'
    if ((status == 0 && SECONDS - began >= 2)); then say "$name: done in $((SECONDS - began)) s"; fi
    return "$status"
}

# step NAME CURE COMMAND...: the same, and out if it fails, saying which step, why, and what to do.
step() {
    local name=$1 cure=$2 began=$SECONDS status=0
    shift 2
    logged "$name" "$@" || status=$?
    if ((status)); then
        local log=$LOGS/$name.log
        { printf '\n---- the end of %s ----\n' "$log"; tail -n 40 "$log"; printf -- '----\n'; } >&2
        fail "$name" "'$1' ended with status $status after $((SECONDS - began)) s; its last lines are above, all of them in $log" "$cure"
    fi
}

# digest TEXT...: of the content, so that a fresh clone's file times mean nothing.
digest() { printf '%s\n' "$@" | sha256sum | cut -c1-32; }

# stamped FILE DIGEST: true when the file says that this was done already.
stamped() { [[ -f $1 && $(<"$1") == "$2" ]]; }

# jobs: one for each core this process may use, and at least 1 GiB of free memory for each.
jobs_here() {
    local cores memory
    cores=$(nproc)
    memory=$(awk '/^MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo 2>/dev/null || echo "$cores")
    if ((memory < 1)); then memory=1; fi
    if ((memory < cores)); then echo "$memory"; else echo "$cores"; fi
}
