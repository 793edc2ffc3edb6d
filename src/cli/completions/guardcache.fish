# Completion for fish. It asks the command for its words, so that it is never older than the command.

function __guardcache_words
    guardcache help $argv 2>/dev/null | sed -n 's/^  \([a-z-][a-z-]*\).*/\1/p'
end

# The words of the command line behind options that stand before the command: its name comes first.
function __guardcache_line
    set -l words (commandline -opc)
    set -e words[1]
    while string match -q -- '-*' "$words[1]"
        if contains -- "$words[1]" --cache --set --namespace
            set -e words[1]
        end
        set -e words[1]
    end
    string join -- \n $words
end

function __guardcache_seconds
    set -l words (__guardcache_line)
    test -n "$words[1]" || return
    guardcache help 2>/dev/null | sed -n "s/^  $words[1] \([a-z][a-z-]*\)  .*/\1/p"
end

function __guardcache_options
    set -l words (__guardcache_line)
    if test -n "$(__guardcache_seconds)"
        __guardcache_words $words[1] $words[2]
    else
        __guardcache_words $words[1]
    end
end

# Ids of the first entries that begin so, of the cache that the command line names.
function __guardcache_entries
    set -l words (commandline -opc)
    set -l place
    set -l at (contains -i -- --cache $words)
    and set place --cache $words[(math $at + 1)]
    guardcache ls --json $place 2>/dev/null | sed -n 's/^{"entry": "\([0-9a-f]*\)".*/\1/p' | string match -- (commandline -ct)'*' | head -n 200
end

# Whether the command's name is still to come, or so many words of it have been written.
function __guardcache_has
    test (count (__guardcache_line)) -eq $argv[1]
end

function __guardcache_is
    set -l words (__guardcache_line)
    contains -- "$words[1]" $argv
end

function __guardcache_behind
    set -l words (commandline -opc)
    contains -- "$words[-1]" $argv
end

complete -c guardcache -n '__guardcache_has 0; and not __guardcache_behind --cache --set --namespace' -f -a '(__guardcache_words) --cache --set --namespace --json help'
complete -c guardcache -n '__guardcache_has 1' -a '(__guardcache_seconds)'
complete -c guardcache -n 'string match -q -- "-*" (commandline -ct)' -a '(__guardcache_options)'
complete -c guardcache -n '__guardcache_behind --reason' -f -a '(guardcache help --words reasons)'
complete -c guardcache -n '__guardcache_behind --set' -f -a '(guardcache help --words settings)'
complete -c guardcache -n '__guardcache_is config; and __guardcache_has 1' -f -a '(guardcache help --words settings)'
complete -c guardcache -n '__guardcache_is cat rm show' -a '(__guardcache_entries)'
complete -c guardcache -n '__guardcache_is rules; and not __guardcache_has 1' -a '(guardcache help --words kinds)'
