# What counts as a consequence of a difference: a size's constant in what takes sizes, a reference past a node that is gone or
# through one that is new; and what doesn't: other constants that happen to be the same, other wiring, strides of one element.
cat >make.py <<'PY'
import json
import sys


def node(name, target, *args):
    return {"name": name, "op": "call_function", "target": target, "args": list(args), "kwargs": {}}


def ref(name):
    return {"$node": name}


def tensor(shape, stride):
    return {"$tensor": {"dtype": "float32", "shape": shape, "stride": stride, "device": "cpu"}}


def write(name, shape=(4, 2), stride=None, factor=2, inserted=None, removed=False, args=None):
    args = {"b": "a", "c0": "b", "c1": "y", "d1": "x", **(args or {})}
    nodes = [{"name": n, "op": "placeholder", "target": n, "args": [], "kwargs": {}} for n in "xy"]
    nodes += [node("a", "aten.mul.Scalar", ref("x"), factor)]
    nodes += [node("n", "aten.neg.default", ref(inserted))] if inserted else []
    nodes += [] if removed else [node("b", "aten.add.Scalar", ref(args["b"]), factor)]
    nodes += [node("c", "aten.sub.Tensor", ref(args["c0"]), ref(args["c1"]))]
    nodes += [node("d", "aten.div.Tensor", ref("c"), ref(args["d1"]))]
    nodes += [node("e", "aten.expand.default", ref("d"), [4, shape[1]])]
    nodes += [{"name": "output", "op": "output", "target": "output", "args": [[ref("e")]], "kwargs": {}}]
    inputs = [{"name": "x", "value": tensor(list(shape), stride or [shape[1], 1])}, {"name": "y", "value": tensor([4, 2], [2, 1])}]
    graph = {"format": "guardcache-graph/1", "kind": "fx", "graph": {"nodes": nodes}, "inputs": inputs}
    json.dump(graph, open(name + ".json", "w"))


write("base")
write("size", shape=(4, 3), factor=3)
write("factors", factor=3)
write("inserted", inserted="a", args={"b": "n"})
write("rewired", inserted="a", args={"b": "n", "d1": "n"})
write("unrelated", inserted="x", args={"c1": "n"})
write("removed", removed=True, args={"c0": "a"})
write("removed_rewired", removed=True, args={"c0": "y"})
write("one", shape=(1, 2))
write("one_strided", shape=(1, 2), stride=[1, 1])
write("transposed", shape=(4, 2), stride=[1, 4])


def module(name, precision, result):
    line = "    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [" + precision + "] : "
    types = "(tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> "
    adds = [f"    %{i + 1} = stablehlo.add %0, %{i} : tensor<4x4xf32>" for i in range(12)]
    lines = ["module @m {", line + types * 3 + precision, *adds, "    return " + result, "}"]
    graph = {"format": "guardcache-graph/1", "kind": "stablehlo", "module": "\n".join(lines)}
    json.dump(graph, open(name + ".json", "w"))


module("default", "DEFAULT", "%3")
module("highest", "HIGHEST", "%4")
PY
python3 make.py
for other in size factors inserted rewired unrelated removed removed_rewired transposed; do
    echo "$other:"
    run guardcache diff base.json $other.json
done
echo "one row has no order in memory:"
run guardcache diff one.json one_strided.json
echo "a long line differs late:"
run guardcache diff default.json highest.json
guardcache insert --graph default.json --payload make.py >/dev/null
run guardcache explain --graph highest.json | sed 's@stored [0-9:]*,@stored TIME,@'

cat >texts.py <<'PY'
import json


def write(name, **options):
    json.dump({"format": "guardcache-graph/1", "kind": "fx", "options": options}, open(name + ".json", "w"))


write("seen", s="caf\u00e9", t="a\u200bb", u="a b", v={"a.b": 1, "a": {"b": 2}, "c[0]": 1, " ": 1, "e ": 1})
write("unseen", s="cafe\u0301", t="ab", u="a\u00a0b", v={"a.b": 2, "a": {"b": 3}, "c[0]": 2, " ": 2, "e ": 2})
write("lines", text="def forward(self, x):\n    div = aten.div.Tensor(x, 0.5)\n    return (div,)\n")
write("lines_other", text="def forward(self, x):\n    div = aten.div.Tensor(x, 0.7)\n    return (div,)\n")
PY
python3 texts.py
echo "texts that look the same, names with dots:"
run guardcache diff seen.json unseen.json
echo "a few lines:"
run guardcache diff lines.json lines_other.json
echo "keys of which nothing is known:"
for digit in 1 2; do
    printf -v key "%064d" $digit
    guardcache insert --key "$key" --payload texts.py >/dev/null
done
run guardcache diff "${key%2}1" "$key"
run guardcache diff --json "${key%2}1" "$key"
run guardcache diff --json "$key" "$key"
echo "advice on an order in memory only where there is another one:"
guardcache insert --cache one --graph one.json --payload texts.py >/dev/null
run guardcache explain --cache one --graph one_strided.json | sed 's@stored [0-9:]*,@stored TIME,@'
guardcache insert --cache base --graph base.json --payload texts.py >/dev/null
run guardcache explain --cache base --graph transposed.json | sed 's@stored [0-9:]*,@stored TIME,@'
