"""guardcache under llvmlite."""
