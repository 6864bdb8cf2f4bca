#!/usr/bin/env bash
#
# keepsafe - make compressed snapshots of directories and rotate the old ones.
#
# Snapshots are plain tar archives named <label>-<timestamp>.tar.gz. Rotation
# keeps the newest N, plus one per month for as long as the disk allows.

set -euo pipefail
shopt -s nullglob

readonly PROGRAM="${0##*/}"
readonly VERSION="1.4.2"
readonly CONFIG_FILE="${XDG_CONFIG_HOME:-$HOME/.config}/keepsafe.conf"
readonly MIN_FREE_KB=$((512 * 1024))

# Defaults, overridden first by the config file and then by options.
TARGET_DIR="${HOME}/snapshots"
KEEP=7
LABEL=""
DRY_RUN=0
VERBOSE=0
EXCLUDES=( '*.tmp' '.cache' 'node_modules' )

WORK_DIR=""

# ---------------------------------------------------------------- messages --

log() {
    (( VERBOSE )) || return 0
    printf '%s %s\n' "$(date '+%H:%M:%S')" "$*" >&2
}

warn() { printf '%s: warning: %s\n' "$PROGRAM" "$*" >&2; }

die() {
    printf '%s: %s\n' "$PROGRAM" "$1" >&2
    exit "${2:-1}"
}

usage() {
    cat <<END_OF_USAGE
Usage: $PROGRAM [options] directory...

Options:
  -t DIR      where the snapshots go (default: $TARGET_DIR)
  -k NUMBER   how many recent snapshots to keep (default: $KEEP)
  -l LABEL    name of the snapshot (default: name of the directory)
  -x PATTERN  leave out matching files, may be repeated
  -n          dry run: only say what would be done
  -v          be talkative
  -V          print the version and exit
  -h          print this help and exit

Settings are read from $CONFIG_FILE if it exists.
Exit status: 0 fine, 1 failure, 2 wrong usage, 3 disk almost full.
END_OF_USAGE
}

# ----------------------------------------------------------------- helpers --

cleanup() {
    local status=$?
    if [[ -n $WORK_DIR && -d $WORK_DIR ]]; then
        rm -rf -- "$WORK_DIR"
    fi
    exit "$status"
}

run() {
    if (( DRY_RUN )); then
        printf 'would run:'
        printf ' %q' "$@"
        printf '\n'
    else
        log "+ $*"
        "$@"
    fi
}

require() {
    local tool missing=()
    for tool in "$@"; do
        command -v "$tool" >/dev/null 2>&1 || missing+=( "$tool" )
    done
    (( ${#missing[@]} == 0 )) || die "please install: ${missing[*]}"
}

# Reads simple "key = value" lines. The file is never sourced, so a typo in it
# cannot run commands.
read_config() {
    local file=$1 line key value number=0
    [[ -r $file ]] || return 0
    while IFS= read -r line || [[ -n $line ]]; do
        number=$(( number + 1 ))
        line="${line%%#*}"
        [[ $line =~ ^[[:space:]]*$ ]] && continue
        if [[ ! $line =~ ^[[:space:]]*([a-z_]+)[[:space:]]*=[[:space:]]*(.*[^[:space:]])[[:space:]]*$ ]]; then
            warn "$file:$number: cannot understand '$line'"
            continue
        fi
        key="${BASH_REMATCH[1]}" value="${BASH_REMATCH[2]}"
        case "$key" in
            target)  TARGET_DIR="${value/#\~/$HOME}" ;;
            keep)    KEEP="$value" ;;
            exclude) EXCLUDES+=( "$value" ) ;;
            *)       warn "$file:$number: unknown setting '$key'" ;;
        esac
    done < "$file"
}

check_space() {
    local free_kb
    free_kb=$(df -Pk -- "$1" | awk 'NR == 2 { print $4 }')
    log "free space in $1: $(( free_kb / 1024 )) MiB"
    if (( free_kb < MIN_FREE_KB )); then
        die "less than $(( MIN_FREE_KB / 1024 )) MiB left in $1" 3
    fi
}

# --------------------------------------------------------------- snapshots --

make_snapshot() {
    local source=$1 label=$2 stamp archive pattern
    local -a tar_options=( --create --gzip --one-file-system )

    stamp=$(date -u '+%Y-%m-%dT%H%M%SZ')
    archive="$TARGET_DIR/$label-$stamp.tar.gz"
    for pattern in "${EXCLUDES[@]}"; do
        tar_options+=( --exclude="$pattern" )
    done

    # Write to a temporary name first: a half-finished archive must never
    # look like a good one.
    run tar "${tar_options[@]}" \
        --file="$WORK_DIR/$label.partial" \
        --directory="$(dirname -- "$source")" \
        -- "$(basename -- "$source")" || return 1
    (( DRY_RUN )) && return 0

    gzip --test --suffix=.partial "$WORK_DIR/$label.partial" || return 1
    mv -- "$WORK_DIR/$label.partial" "$archive" || return 1
    ( cd -- "$TARGET_DIR" && sha256sum -- "${archive##*/}" > "${archive##*/}.sha256" )
    printf '✓ %s (%s)\n' "${archive##*/}" "$(du -h -- "$archive" | cut -f1)"
}

# Prints the snapshots of a label that may be deleted. The newest $KEEP are
# safe, and so is the newest one of each month.
list_expired() {
    local label=$1 file
    for file in "$TARGET_DIR/$label"-[0-9][0-9][0-9][0-9]-*.tar.gz; do
        printf '%s\n' "$file"
    done | sort -r | awk -v keep="$KEEP" -v prefix="$TARGET_DIR/$label-" '
        {
            month = substr($0, length(prefix) + 1, 7)   # e.g. 2024-05
            first_of_month = !(month in seen)
            seen[month] = NR
        }
        NR > keep && !first_of_month { print }
    '
}

rotate() {
    local label=$1 file count=0
    while IFS= read -r file; do
        run rm -f -- "$file" "$file.sha256"
        count=$(( count + 1 ))
    done < <(list_expired "$label")
    log "$label: $count old snapshot(s) removed"
}

print_summary() {
    local file
    for file in "$TARGET_DIR"/*.tar.gz; do
        printf '%s\t%s\n' "$(stat -c %s -- "$file")" "${file##*/}"
    done | awk -F'\t' '
        {
            label = $2
            sub(/-[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]+Z\.tar\.gz$/, "", label)
            count[label]++
            bytes[label] += $1
            total += $1
        }
        END {
            for (label in count)
                printf "%-24s %4d files %9.1f MiB\n", label, count[label], bytes[label] / 1048576
            printf "%-24s %4d files %9.1f MiB\n", "total", NR, total / 1048576
        }
    '
}

main() {
    local option source label failures=0

    read_config "$CONFIG_FILE"
    while getopts ':t:k:l:x:nvVh' option; do
        case "$option" in
            t) TARGET_DIR="${OPTARG%/}" ;;
            k) KEEP="$OPTARG" ;;
            l) LABEL="$OPTARG" ;;
            x) EXCLUDES+=( "$OPTARG" ) ;;
            n) DRY_RUN=1 ;;
            v) VERBOSE=1 ;;
            V) echo "$PROGRAM $VERSION"; exit 0 ;;
            h) usage; exit 0 ;;
            :) die "option -$OPTARG needs a value" 2 ;;
            *) usage >&2; exit 2 ;;
        esac
    done
    shift $(( OPTIND - 1 ))

    (( $# > 0 )) || { usage >&2; exit 2; }
    [[ $KEEP =~ ^[1-9][0-9]*$ ]] || die "not a positive number: '$KEEP'" 2
    [[ -z $LABEL || $# -eq 1 ]] || die "-l works with one directory only" 2

    require tar gzip sha256sum awk
    umask 077
    mkdir -p -- "$TARGET_DIR"
    check_space "$TARGET_DIR"
    WORK_DIR=$(mktemp -d -- "$TARGET_DIR/.keepsafe.XXXXXX")
    trap cleanup EXIT
    trap 'exit 130' INT TERM

    # TODO: take a lock, two runs at the same time would rotate twice
    for source in "$@"; do
        source="${source%/}"
        label="${LABEL:-$(basename -- "$source")}"
        if [[ ! -d $source ]]; then
            warn "skipped, not a directory: $source"
        elif make_snapshot "$source" "${label// /_}"; then
            rotate "${label// /_}"
            continue
        fi
        failures=$(( failures + 1 ))
    done

    print_summary
    (( failures == 0 )) || die "$failures of $# directories failed"
}

main "$@"
