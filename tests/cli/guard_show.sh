# The listings of guards: the program, and the normal form.
run guardcache guard show "L['t0'] % 8 == 0" "2 <= s0 and s0*s1 <= 2147483647"
run guardcache guard fmt "8 == 8 and not (s0 < 2) and 16*s0 + s1 == s1 + s0*16" "Eq(Mod(s0, 8), 0)"
run guardcache guard show "s0 +"
run guardcache guard fmt "s0 == 1" ")"

# Every instruction that does the work of several.
run guardcache guard show "2 <= s0 and s0 <= 1024" "s0 % 8 == 0 and s0 % 3 != 1" "s1 == 4*s0" "s0 + 3*s1 - 2*s2 <= 7" \
    "s0 // 8 == s1 // 3 and s0 * 5 != s1 + 9" "not (s0 % 4 == 1 or s1 % 5 != 2)" "s0 < s1 or s0 == 3 or s1 >= s2"
# The sign of what comes first, operands that need parentheses, functions by their own names, what can't be written otherwise.
run guardcache guard fmt "s1 == 4*s0" "s0*s0 % (2*s1) == 0" "TruncToInt(s0 / 2) + 1 > s1" "(1 if s0 else 2) == s1" \
    "s0 <= 9 and s1 < 3 and s0 >= 2 and s0 <= 8" "s0 == 1 or s1 == 2 and s2 == 3" "max(s0, 4) == Mod(s1, 8)"
