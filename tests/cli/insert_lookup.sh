# The main job by hand: miss, insert, hit, another size misses, a second variant, refusals.
small g.json torch.softmax
printf 'code A' >a; printf 'code B' >b

run guardcache lookup --graph g.json --hint s0=16
run guardcache insert --graph g.json --hint s0=16 --guard "s0 % 8 == 0" --payload a --compile-ns 812000000 | mask
run guardcache lookup --graph g.json --hint s0=32 --out found
cat found; echo
run guardcache lookup --graph g.json --hint s0=32 --out -; echo
run guardcache lookup --graph g.json --hint s0=32 | mask
run guardcache lookup --graph g.json --hint s0=12
run guardcache lookup --graph g.json
run guardcache lookup --graph g.json --hint s0=12 --json | mask
run guardcache lookup --graph g.json --hint s0=24 --json | mask

echo "refused, and stored unevaluated:"
run guardcache insert --graph g.json --hint s0=12 --guard "s0 % 2 == 0" --guard "s0 % 8 == 0" --payload b
run guardcache insert --graph g.json --hint s0=0 --guard "8 % s0 == 0" --payload b
run guardcache insert --graph g.json --guard "s0 == 12" --payload b | mask
run guardcache lookup --graph g.json --hint s0=12 --out -; echo

echo "an equal entry is stored once:"
first=$(guardcache insert --graph g.json --guard "s0 == 12" --payload b)
again=$(guardcache insert --graph g.json --guard "s0 == 12" --payload b)
[ "$first" = "$again" ] && guardcache ls | tail -n 1

echo "the same guards with another payload:"
run guardcache insert --graph g.json --guard "s0 == 12" --payload a | mask
run guardcache lookup --graph g.json --hint s0=12 --out -; echo

echo "by key, and from a file of hints:"
key=$(guardcache key g.json | cut -c -64)
echo '{"s0": 12}' >hints.json
run guardcache lookup --key "$key" --hints hints.json --out -; echo
run guardcache insert --key "$key" --hint s0=20 --guard "s0 == 20" --payload a | mask
sed 's/s0/s7/g' g.json >renamed.json
run guardcache lookup --graph renamed.json --hint s7=20 --out -; echo
run guardcache explain --key "$key" --hint s0=13 | story

echo "what is wrong is said before anything is stored:"
run guardcache insert --graph g.json --hint s0=16
run guardcache insert --graph g.json --payload missing
run guardcache insert --graph g.json --payload a --require nix
run guardcache insert --graph g.json --payload a --guard "s0 +"
guardcache ls | tail -n 1
run guardcache verify | mask

echo "refused by a cache that isn't there yet:"
run guardcache insert --cache fresh --graph g.json --payload a --guard "s0 == 7" --hint s0=8
