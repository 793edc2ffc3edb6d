# Completion for fish. It asks the command for its words, so that it is never older than the command.

function __guardcache_words
    guardcache help $argv 2>/dev/null | sed -n 's/^  \([a-z-][a-z-]*\).*/\1/p'
end

function __guardcache_options
    set -l words (commandline -opc)
    if test "$words[2]" = guard
        __guardcache_words guard $words[3]
    else
        __guardcache_words $words[2]
    end
end

complete -c guardcache -n '__fish_is_nth_token 1' -f -a '(__guardcache_words)'
complete -c guardcache -n '__fish_seen_subcommand_from guard; and __fish_is_nth_token 2' -f -a 'eval show fmt'
complete -c guardcache -n 'string match -q -- "-*" (commandline -ct)' -a '(__guardcache_options)'
