"""Another JAX (as if: another version is told to the cache)."""

import compiler
import jax.numpy as jnp

AFTER = "kept"


def f(x):
    return jnp.sin(x) * 2 + 1


def stored():
    compiler.compile(f, jnp.ones((8, 16)))


def asked():
    compiler.compile(f, jnp.ones((8, 16)), version="0.0.1")
