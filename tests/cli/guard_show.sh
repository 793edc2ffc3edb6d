# The listings of guards: the program, and the normal form.
run guardcache guard show "L['t0'] % 8 == 0" "2 <= s0 and s0*s1 <= 2147483647"
run guardcache guard fmt "8 == 8 and not (s0 < 2) and 16*s0 + s1 == s1 + s0*16" "Eq(Mod(s0, 8), 0)"
run guardcache guard show "s0 +"
run guardcache guard fmt "s0 == 1" ")"
