# Completion for fish. It asks the command for its words, so that it is never older than the command.

function __guardcache_words
    guardcache help $argv 2>/dev/null | sed -n 's/^  \([a-z-][a-z-]*\).*/\1/p'
end

function __guardcache_seconds
    set -l words (commandline -opc)
    guardcache help 2>/dev/null | sed -n "s/^  $words[2] \([a-z][a-z-]*\)  .*/\1/p"
end

function __guardcache_options
    set -l words (commandline -opc)
    if test -n "$(__guardcache_seconds)"
        __guardcache_words $words[2] $words[3]
    else
        __guardcache_words $words[2]
    end
end

complete -c guardcache -n '__fish_is_nth_token 1' -f -a '(__guardcache_words)'
complete -c guardcache -n '__fish_is_nth_token 2' -f -a '(__guardcache_seconds)'
complete -c guardcache -n 'string match -q -- "-*" (commandline -ct)' -a '(__guardcache_options)'
