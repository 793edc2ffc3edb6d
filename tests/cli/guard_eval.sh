# guard eval for people: true, false, Python's exception, a text that isn't in the language; every kind of hint.
ask() {
    printf '%s\n' "$*"
    run guardcache guard eval "$@"
}
ask "L['t0'] % 8 == 0" --hint t0=16
ask "L['t0'] % 8 == 0" --hint t0=12
ask "s0 // 0" --hint s0=1
ask "s0 % 8" --hint s1=1
ask "L['t9'] == 0"
ask "s0 == 2**70" --hint s0=1180591620717411303424
ask "s0 == 2**70" --hint 's0={"$int": "1180591620717411303424"}'
ask "x < 0.5" --hint x=0.25
ask "x != x" --hint 'x={"$float": "nan"}'
ask "x > 10**400" --hint 'x={"$float": "inf"}'
ask "b == 1" --hint b=true
ask "n == None" --hint n=null
ask "not n" --hint n=null
ask "s0 +"
ask ""
ask "s0" --hint s0=0 --json
ask "s0 // 0" --hint s0=1 --json
ask "s0" --hint s0
ask "s0" --hint s0=
ask "s0" --hint 's0="16"'
ask "s0" --hint s0=1 --hint s0=2
echo '{"s0": 16}' >hints.json
ask "s0 == 16 and s1 == 2" --hints hints.json --hint s1=2
echo '[16]' >hints.json
ask "s0" --hints hints.json
