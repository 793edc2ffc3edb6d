# URLs of tiers that make no sense, each with what is wrong with it, and credentials, which nothing prints.
guardcache config compression-level 3
wrong() { GUARDCACHE_TIERS=$1 run guardcache tier ls; }
run guardcache tier ls
wrong "redis"
wrong "redi://cache"
wrong "ftp://cache"
wrong "redis://"
wrong "redis://:hunter2@:6379"
wrong "redis://cache:0"
wrong "redis://cache:seven"
wrong "redis://[::1"
wrong "redis://cache/one"
wrong "redis://cache/99999999999"
wrong "redis://user:hunter2@cache:70000"
wrong "redis://user:sec%ZZret@cache"
wrong "redis://user:sec/ret@cache"
wrong "redis://bob:hun?te@r2@cache"
wrong "redis://bob:hun@te?r2@cache"
wrong "redis://cache?user=bob&password=hunter2"
wrong "redis://bob:hun ter2@cache"
wrong "file:///shared?db=1"
wrong "redis://cache?ca-file=/ca.pem"
wrong "redis+unix://host/socket"
wrong "redis+unix://"
wrong "file://"
wrong "file://relative"
wrong "redis://cache?prefx=a"
wrong "redis://cache?prefix="
wrong "redis://cache?prefix=../a"
wrong "redis://cache?ttl=soon"
wrong "redis://cache?timeout-ms=0"
wrong "redis://cache?connect-timeout-ms=-1"
wrong "redis://cache?max-bytes=much"
wrong "redis://cache?read-only=perhaps"
wrong "rediss://cache?insecure=2"
wrong "rediss://cache?ca-file=relative.pem"
wrong "redis://a redis://b redis://c redis://d redis://e redis://f redis://g redis://h redis://i"
run guardcache push
run guardcache push "redis://user:hunter2@"
run guardcache tier sync
run guardcache tier flush

echo "credentials:"
export GUARDCACHE_TIERS="redis://user:hunter2@127.0.0.1:1/3 rediss://:hunter2@127.0.0.1:1?prefix=team file://$PWD/shared"
mkdir -m 700 shared
small g.json torch.softmax
echo code >payload
{
    guardcache config
    guardcache config --json
    guardcache config tiers
    guardcache tier ls
    guardcache tier ls --json
    guardcache tier ping
    guardcache lookup --graph g.json --hint s0=16
    guardcache insert --graph g.json --hint s0=16 --payload payload
    guardcache explain --graph g.json --hint s0=8
    guardcache explain --last --json
    guardcache explain --last --html page.html
    guardcache journal
    guardcache journal --json
    guardcache stats
    guardcache stats --json
    guardcache stats --prometheus
    guardcache report
    guardcache doctor
    guardcache tier sync
    guardcache push redis://user:hunter2@127.0.0.1:1
    guardcache pull "redis://user:hunter2@127.0.0.1:1?nonsense=1"
    guardcache tier ls --set tiers=redis://user:hunter2@cache:0
    guardcache config tiers redis://user:hunter2@cache:0
} >printed 2>&1
grep -c "127.0.0.1:1" printed | sed 's/^[0-9][0-9]*$/many lines name them/'
grep -n hunter2 printed page.html || echo "and none their credentials"
guardcache config tiers
guardcache tier ls | sed "s#$PWD#HERE#"
guardcache tier ping 2>&1 | sed -E "s#$PWD#HERE#; s/[0-9.]+ (ns|us|ms)/A WHILE/"
guardcache doctor | grep -A 1 '^tier' | sed -E "s#$PWD#HERE#; s/[0-9.]+ (ns|us|ms)/A WHILE/"
guardcache doctor --set tiers=redis://192.0.2.1:6379?connect-timeout-ms=100 | grep -A 1 'not encrypted'
