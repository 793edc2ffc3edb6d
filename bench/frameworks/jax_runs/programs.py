"""What bench/frameworks/jax.py compiles: functions and models, each by name, and the arguments they are called with.

The driver writes this file anew for each change of a program, with names starting with ``step_`` replaced, in another
place, or under other lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np

import jax

Call = tuple[Callable[..., Any], tuple[Any, ...]]


def numbers(*shape: int) -> Any:
    """Always the same, made without compiling anything."""
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


# ---- ten small functions ----


def step_dense(x: Any, w: Any, b: Any) -> Any:
    return jnp.tanh(x @ w + b)


def step_softmax(x: Any) -> Any:
    return jax.nn.softmax(x, axis=-1)


def step_layer_norm(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def step_attention(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.softmax(q @ k.T / 8.0) @ v


def step_conv(x: Any, w: Any) -> Any:
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME")


def step_scan(x: Any) -> Any:
    return jax.lax.scan(lambda carry, row: (carry * 0.9 + row, carry.sum()), x[0], x)


def step_loss_gradient(w: Any, x: Any, y: Any) -> Any:
    return jax.grad(lambda w: ((jnp.tanh(x @ w) - y) ** 2).mean())(w)


def step_sort(x: Any) -> Any:
    return jnp.sort(x, axis=-1)[..., ::2]


def step_pairwise(x: Any) -> Any:
    return jnp.sqrt(((x[:, None] - x[None]) ** 2).sum(-1) + 1e-6)


def step_cumulative(x: Any) -> Any:
    return jnp.where(x > 0, jnp.cumsum(x, axis=0), jnp.exp(x))


def functions() -> Iterator[Call]:
    x, w = numbers(32, 64), numbers(64, 64)
    yield step_dense, (x, w, numbers(64))
    yield step_softmax, (x,)
    yield step_layer_norm, (x,)
    yield step_attention, (x, x, x)
    yield step_conv, (numbers(2, 3, 16, 16), numbers(8, 3, 3, 3))
    yield step_scan, (x,)
    yield step_loss_gradient, (w, x, numbers(32, 64) * 0.5)
    yield step_sort, (x,)
    yield step_pairwise, (x,)
    yield step_cumulative, (x,)


# ---- models ----


def flax_models() -> Iterator[Call]:
    from flax import linen as nn

    class Step_Mlp(nn.Module):  # noqa: N801
        @nn.compact
        def __call__(self, x: Any) -> Any:
            return nn.Dense(10)(nn.relu(nn.Dense(128)(x)))

    class Step_Cnn(nn.Module):  # noqa: N801
        @nn.compact
        def __call__(self, x: Any) -> Any:
            x = nn.avg_pool(nn.relu(nn.Conv(16, (3, 3))(x)), (2, 2), strides=(2, 2))
            return nn.Dense(10)(x.reshape((x.shape[0], -1)))

    class Step_Block(nn.Module):  # noqa: N801
        @nn.compact
        def __call__(self, x: Any) -> Any:
            x = x + nn.MultiHeadDotProductAttention(num_heads=4)(nn.LayerNorm()(x))
            return x + nn.Dense(64)(nn.gelu(nn.Dense(256)(nn.LayerNorm()(x))))

    inputs = {Step_Mlp: numbers(8, 64), Step_Cnn: numbers(4, 16, 16, 3), Step_Block: numbers(2, 16, 64)}
    for kind, x in inputs.items():
        model = kind()
        parameters = jax.tree.map(
            lambda leaf: numbers(*leaf.shape) * np.float32(0.1), jax.eval_shape(model.init, jax.random.key(0), x)
        )
        yield model.apply, (parameters, x)
        yield _gradient_of(model), (parameters, x)


def _gradient_of(model: Any) -> Callable[..., Any]:
    def step_train(parameters: Any, x: Any) -> Any:
        return jax.grad(lambda p: (model.apply(p, x) ** 2).mean())(parameters)

    return step_train


def equinox_models() -> Iterator[Call]:
    import equinox as eqx

    shapes: Any = jax.eval_shape(
        lambda key: eqx.filter(eqx.nn.MLP(16, 4, 64, 3, key=key), eqx.is_array), jax.random.key(0)
    )
    mlp = eqx.nn.MLP(16, 4, 64, 3, key=jax.random.key(0))
    _, static = eqx.partition(mlp, eqx.is_array)
    weights = jax.tree.map(lambda leaf: numbers(*leaf.shape) * np.float32(0.1), shapes)

    def step_forward(weights: Any, x: Any) -> Any:
        return jax.vmap(eqx.combine(weights, static))(x)

    def step_train(weights: Any, x: Any) -> Any:
        return jax.grad(lambda w: (jax.vmap(eqx.combine(w, static))(x) ** 2).mean())(weights)

    yield step_forward, (weights, numbers(8, 16))
    yield step_train, (weights, numbers(8, 16))


CASES = {"10 functions": functions, "flax": flax_models, "equinox": equinox_models}
