# shellcheck shell=bash
# Completion for bash. It asks the command for its words, so that it is never older than the command.

# _guardcache_words HELP-ARGUMENTS...: the first word of each indented line of help.
_guardcache_words() {
    guardcache help "$@" 2>/dev/null | sed -n 's/^  \([a-z-][a-z-]*\).*/\1/p'
}

_guardcache() {
    local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]-} second=${COMP_WORDS[2]-}
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_guardcache_words)" -- "$current")
    elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" = guard ]; then
        mapfile -t COMPREPLY < <(compgen -W "eval show fmt" -- "$current")
    elif [[ $current == -* ]]; then
        [ "$command" = guard ] || second=
        # shellcheck disable=SC2086 # an empty second word is none
        mapfile -t COMPREPLY < <(compgen -W "$(_guardcache_words "$command" $second) --help" -- "$current")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}

complete -o filenames -F _guardcache guardcache
