# The canonical form of a small description, byte for byte but for the hash of the rules: every key hangs on it.
small a.json torch.softmax
guardcache canon --hex a.json | sed -E 's/(6572756c65735820)[0-9a-f]{64}/\1RULES/'
[ "$(guardcache canon a.json | od -An -v -tx1 | tr -d ' \n')" = "$(guardcache canon --hex a.json)" ] && echo "same bytes"
