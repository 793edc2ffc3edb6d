# shellcheck shell=bash
# Completion for bash. It asks the command for its words, so that it is never older than the command.

# _guardcache_words HELP-ARGUMENTS...: the first word of each indented line of help.
_guardcache_words() {
    guardcache help "$@" 2>/dev/null | sed -n 's/^  \([a-z-][a-z-]*\).*/\1/p'
}

# _guardcache_seconds WORD: the second words of commands whose name begins with WORD.
_guardcache_seconds() {
    guardcache help 2>/dev/null | sed -n "s/^  $1 \([a-z][a-z-]*\)  .*/\1/p"
}

# _guardcache_entries BEGINNING: ids of the first entries that begin so, of the cache that the command line names.
_guardcache_entries() {
    local at place=()
    for ((at = 1; at + 1 < COMP_CWORD; at++)); do
        [ "${COMP_WORDS[at]}" = --cache ] || continue
        [ "${COMP_WORDS[at + 1]}" = = ] && at=$((at + 1))
        place=(--cache "${COMP_WORDS[at + 1]}")
    done
    guardcache ls --json "${place[@]}" 2>/dev/null | sed -n "s/^{\"entry\": \"\($1[0-9a-f]*\)\".*/\1/p" | head -n 200
}

# _guardcache_at_command: the number of the word that is the command's name: options may stand before it.
_guardcache_at_command() {
    local at=1
    while [ "$at" -lt "$COMP_CWORD" ]; do
        case ${COMP_WORDS[at]} in
        --cache | --set | --namespace)
            [ "${COMP_WORDS[at + 1]-}" = = ] && at=$((at + 1))
            at=$((at + 2))
            ;;
        -*) at=$((at + 1)) ;;
        *) break ;;
        esac
    done
    echo "$at"
}

# _guardcache_value OPTION CURRENT: what may be an option's value. Fails for an option whose values are files or nobody's.
_guardcache_value() {
    case $1 in
    --reason) mapfile -t COMPREPLY < <(compgen -W "$(guardcache help --words reasons 2>/dev/null)" -- "$2") ;;
    --set) mapfile -t COMPREPLY < <(compgen -W "$(guardcache help --words settings 2>/dev/null)" -- "$2") ;;
    --cache | --place) mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
    *) return 1 ;;
    esac
}

# _guardcache_argument COMMAND SECOND NUMBER CURRENT: what may be a command's argument; NUMBER counts words behind its first.
_guardcache_argument() {
    case $1 in
    config)
        [ "$3" -eq 1 ] && mapfile -t COMPREPLY < <(compgen -W "$(guardcache help --words settings 2>/dev/null)" -- "$4")
        ;;
    cat | rm | show)
        mapfile -t COMPREPLY < <(_guardcache_entries "$4")
        [ "$1" = show ] && mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$4")
        ;;
    rules)
        mapfile -t COMPREPLY < <(compgen -f -W "$(guardcache help --words kinds 2>/dev/null)" -- "$4")
        ;;
    help)
        mapfile -t COMPREPLY < <(compgen -W "$(_guardcache_words "${@:2:$3 - 1}")" -- "$4")
        ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$4") ;;
    esac
}

_guardcache() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} at command second
    at=$(_guardcache_at_command)
    command=${COMP_WORDS[at]-} second=${COMP_WORDS[at + 1]-}
    if [ "$current" = = ]; then
        current=
    elif [ "$previous" = = ]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    COMPREPLY=()
    _guardcache_value "$previous" "$current" && return
    if [ "$COMP_CWORD" -le "$at" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_guardcache_words) --cache --set --namespace --json help" -- "$current")
    elif [ "$COMP_CWORD" -eq $((at + 1)) ] && [ -n "$(_guardcache_seconds "$command")" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_guardcache_seconds "$command")" -- "$current")
    elif [[ $current == -* ]]; then
        [ -n "$(_guardcache_seconds "$command")" ] || second=
        # shellcheck disable=SC2086 # an empty second word is none
        mapfile -t COMPREPLY < <(compgen -W "$(_guardcache_words "$command" $second) --help" -- "$current")
    else
        _guardcache_argument "$command" "$second" $((COMP_CWORD - at)) "$current"
    fi
}

complete -o filenames -F _guardcache guardcache
