"""An array of another shape."""

import compiler
import jax.numpy as jnp

AFTER = "hit"


def f(x):
    return jnp.sin(x) * 2 + 1


def stored():
    compiler.compile(f, jnp.ones((8, 16)))


def asked():
    compiler.compile(f, jnp.ones((6, 16)))


def followed():
    compiler.compile(f, jnp.pad(jnp.ones((6, 16)), ((0, 2), (0, 0))))
