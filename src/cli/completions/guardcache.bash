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

_guardcache() {
    local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]-} second=${COMP_WORDS[2]-}
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_guardcache_words)" -- "$current")
    elif [ "$COMP_CWORD" -eq 2 ] && [ -n "$(_guardcache_seconds "$command")" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_guardcache_seconds "$command")" -- "$current")
    elif [[ $current == -* ]]; then
        [ -n "$(_guardcache_seconds "$command")" ] || second=
        # shellcheck disable=SC2086 # an empty second word is none
        mapfile -t COMPREPLY < <(compgen -W "$(_guardcache_words "$command" $second) --help" -- "$current")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}

complete -o filenames -F _guardcache guardcache
