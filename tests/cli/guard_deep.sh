# Guards of extreme shape: long is fine, deep is refused, and neither takes long or much stack.
python3 - <<'PY' >lines
import json
def line(guard, **hints): print(json.dumps({"guard": guard, "hints": hints}))
line(" and ".join(f"s0 != {i}" for i in range(1, 10001)), s0=0)
line(" and ".join(f"s0 != {i}" for i in range(1, 10001)), s0=10000)
line("(" * 10000 + "s0" + ")" * 10000, s0=1)
line("not " * 10000 + "s0", s0=1)
line("-" * 10000 + "s0", s0=1)
line(" + ".join(["s0"] * 10000) + " == 10000", s0=1)
line("[" * 10000, s0=1)
line("s0 == " + "9" * 4000, s0=1)
PY
ulimit -s 1024
run guardcache guard eval --batch <lines | cut -c -150
