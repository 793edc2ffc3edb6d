# The canonical form of a small description, byte for byte: it is what every key hangs on.
small a.json torch.softmax
guardcache canon --hex a.json
[ "$(guardcache canon a.json | od -An -v -tx1 | tr -d ' \n')" = "$(guardcache canon --hex a.json)" ] && echo "same bytes"
