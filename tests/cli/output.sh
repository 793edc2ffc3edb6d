# Standard output that ends early, is full or closed: no endless work, no silence about lost output.
small g.json torch.softmax
guardcache key --batch < <(yes g.json) | head -n 2 | mask
echo "the reader left: exit ${PIPESTATUS[0]}"
guardcache key g.json >/dev/full
echo "full: exit $?"
guardcache version >&-
echo "closed: exit $?"
