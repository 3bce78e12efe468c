#!/usr/bin/env bash
# A whole host in bash and jq: one prompt, one turn, cards answered by a policy. See README.md.
set -uo pipefail

readonly READY_TIMEOUT_S=30 END_TIMEOUT_S=5
readonly EXIT_ENGINE=1 EXIT_USAGE=2 EXIT_DENIED=3 EXIT_CUT=4 EXIT_ERROR=5 EXIT_READER=141 # as SIGPIPE

usage() {
    cat <<'TEXT'
usage: wcore-ask.sh [options] PROMPT [-- engine flags]      (PROMPT - reads standard input)

  --allow NAMES         tools that may run, e.g. Read,Grep,Glob
  --allow-prefix WORDS  Bash commands that the engine itself finds covered by these words, e.g. 'git '
  --answer TEXT         what AskUserQuestion is told
  --deny-rest           refuse everything else; this is always so
  --engine COMMAND      the program to start (default: wcore)
  --quiet               text only; no calls and results on standard error

Text goes to standard output, calls and results to standard error.
exit codes: 0 done   1 engine failed   2 usage   3 done, but calls were refused   4 cut short   5 error
            141 nobody reads standard output
TEXT
}

fail() { # CODE TEXT
    printf 'wcore-ask: %s\n' "$2" >&2
    exit "$1"
}

allow='' answer='' engine=wcore quiet='' has_answer=false
prefixes=() words=() flags=()

while (($#)); do
    case $1 in
        --allow | --allow-prefix | --answer | --engine)
            (($# > 1)) || fail $EXIT_USAGE "$1 needs a value"
            case $1 in
                --allow) allow=$allow,$2 ;;
                --allow-prefix) prefixes+=("$2") ;;
                --answer) answer=$2 has_answer=true ;;
                --engine) engine=$2 ;;
            esac
            shift 2
            ;;
        --deny-rest) shift ;;
        --quiet) quiet=yes; shift ;;
        --help) usage; exit 0 ;;
        --) shift; flags=("$@"); break ;;
        --*) fail $EXIT_USAGE "unknown option $1; engine flags go after --" ;;
        *) words+=("$1"); shift ;;
    esac
done
((${#words[@]} == 1)) || { usage >&2; exit $EXIT_USAGE; }
for program in jq "$engine"; do
    command -v "$program" >/dev/null || fail $EXIT_ENGINE "program not found: $program"
done

if [[ ${words[0]} == - ]]; then prompt=$(cat); else prompt=${words[0]}; fi
policy=$(jq -nc --arg allow "$allow" --arg answer "$answer" --argjson has_answer $has_answer \
    '{tools: ($allow | split(",") | map(select(. != ""))),
      prefixes: ($ARGS.positional | map(sub("\\s+$"; "")) | map(select(. != ""))),
      answer: (if $has_answer then $answer else null end)}' \
    --args -- ${prefixes[@]+"${prefixes[@]}"}) || fail $EXIT_USAGE "the policy cannot be read"

# Two FIFOs carry the wire. Each side opens `in` first and `out` second, so neither waits in vain.
wire=$(mktemp -d) || fail $EXIT_ENGINE "no folder for the wire"
engine_pid=''
# shellcheck disable=SC2329  # the trap calls it
cleanup() {
    rm -rf -- "$wire"
    [[ -n $engine_pid ]] && kill "$engine_pid" 2>/dev/null
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
mkfifo -- "$wire/in" "$wire/out" || fail $EXIT_ENGINE "no FIFO for the wire"
"$engine" ${flags[@]+"${flags[@]}"} <"$wire/in" >"$wire/out" &
engine_pid=$!
exec {to_engine}>"$wire/in"
exec {from_engine}< <(exec {to_engine}>&- && exec jq -Rr --unbuffered \
    --argjson policy "$policy" -f "${BASH_SOURCE[0]%.sh}.jq" <"$wire/out")
trap '' PIPE # an engine that is gone is noticed by its output ending

say() { { printf '%s\n' "$1" >&"$to_engine"; } 2>/dev/null; }

# What is shown is escaped by wcore-ask.jq: only \n and \\ are left for %b to undo.
print() { printf '%b' "$1" 2>/dev/null || exit $EXIT_READER; } # nobody reads: the turn ends too

mid_line=''
end_line() {
    if [[ -n $mid_line ]]; then print '\n'; fi
    mid_line=''
}

show() {
    print "$1"
    if [[ $1 == *'\n' ]]; then mid_line=''; else mid_line=yes; fi
}

note() {
    end_line
    [[ -n $quiet ]] || printf '%b\n' "$1" >&2
}

# Each line of wcore-ask.jq is one word and its payload.
read -r -t $READY_TIMEOUT_S -u "$from_engine" line || line=''
case ${line%% *} in
    ready) ;;
    fail) note "${line#fail * }" && fail $EXIT_ENGINE "the engine did not start" ;;
    *) fail $EXIT_ENGINE "the engine did not start" ;;
esac
rm -rf -- "$wire" # both sides have it open; a program that runs later finds no name of it
say "$(printf '%s' "$prompt" | jq -Rsc '{type: "message", msg_id: "ask-1", content: .}')"

started='' finished='' problem='' denied=0
while IFS= read -r -u "$from_engine" line; do
    payload=${line#* }
    case ${line%% *} in
        started) started=yes ;;
        text) show "$payload" ;;
        say) say "$payload" ;;
        note) note "$payload" ;;
        denied) denied=$((denied + payload)) ;;
        fail)
            note "${payload#* }"
            problem=${payload%% *}
            [[ -z $started && $problem =~ ^(busy|config_error|refused|protocol_error)$ ]] && break
            ;;
        end) finished=$payload; break ;;
    esac
done
end_line
exec {to_engine}>&-
if [[ -n $finished ]]; then
    status=0 # its output ends when it does
    while ((status == 0)); do IFS= read -r -t $END_TIMEOUT_S -u "$from_engine" _; status=$?; done
    ((status > 128)) && kill "$engine_pid" 2>/dev/null # it goes on though its input has ended
    wait "$engine_pid" && engine_pid=''
elif [[ -z $problem ]]; then
    wait "$engine_pid"
    fail $EXIT_ENGINE "the engine died in the turn (exit code $?)"
fi

case ${finished:-error} in
    length | max_turns) exit $EXIT_CUT ;;
    error) exit $EXIT_ERROR ;;
esac
if ((denied)); then exit $EXIT_DENIED; fi
exit 0
