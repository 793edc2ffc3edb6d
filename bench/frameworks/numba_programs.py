"""Thirty-one jitted functions of the kinds that programs have: what `numba_libraries.py` compiles.

`calls()` names each with its arguments. The file is copied and edited by the benchmark: ``kernel_`` in front of every
name is what "renamed" replaces, and ``JIT`` is how it is jitted.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators

import math

import numpy as np
from numba import njit, prange

JIT = njit(cache=True)
FAST = njit(cache=True, fastmath=True)
PARALLEL = njit(cache=True, parallel=True)

SCALE = 1.5
WEIGHTS = np.array([0.25, 0.5, 0.25])
STEPS = (1, 2, 4, 8)


@JIT
def kernel_add(x, y):
    return x + y


@JIT
def kernel_scale(x):
    return x * SCALE


@JIT
def kernel_scaled_sum(values):
    total = 0.0
    for value in values:
        total += kernel_scale(value)
    return total


@JIT
def kernel_fibonacci(n):
    return n if n < 2 else kernel_fibonacci(n - 1) + kernel_fibonacci(n - 2)


@JIT
def kernel_gcd(a, b):
    while b:
        a, b = b, a % b
    return a


@JIT
def kernel_is_prime(n):
    if n < 2:
        return False
    i = 2
    while i * i <= n:
        if n % i == 0:
            return False
        i += 1
    return True


@JIT
def kernel_count_primes(n):
    count = 0
    for i in range(n):
        if kernel_is_prime(i):
            count += 1
    return count


@FAST
def kernel_dot(a, b):
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@JIT
def kernel_norm(a):
    return math.sqrt(kernel_dot(a, a))


@JIT
def kernel_smooth(a):
    out = np.zeros_like(a)
    for i in range(1, len(a) - 1):
        for j in range(3):
            out[i] += WEIGHTS[j] * a[i + j - 1]
    return out


@JIT
def kernel_matmul(a, b):
    out = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                out[i, j] += a[i, k] * b[k, j]
    return out


@JIT
def kernel_transpose(a):
    return a.T.copy()


@JIT
def kernel_cumulated(a):
    return np.cumsum(a)


@JIT
def kernel_sorted(a):
    return np.sort(a)


@JIT
def kernel_statistics(a):
    return a.mean(), a.std(), a.min(), a.max()


@JIT
def kernel_where(a):
    return np.where(a > 0.5, a, -a)


@JIT
def kernel_histogram(a):
    counts = np.zeros(8, dtype=np.int64)
    for value in a:
        counts[min(int(value * 8), 7)] += 1
    return counts


@JIT
def kernel_mandelbrot(c):
    z = 0j
    for i in range(100):
        z = z * z + c
        if abs(z) > 2.0:
            return i
    return 100


@JIT
def kernel_steps(x):
    total = 0
    for step in STEPS:
        total += x // step
    return total


@JIT
def kernel_words(text):
    return len(text.split(" "))


@JIT
def kernel_upper(text):
    return text.upper() + "!"


@JIT
def kernel_counts(values):
    counts = {0: 0}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return len(counts)


@JIT
def kernel_evens(n):
    return [i for i in range(n) if i % 2 == 0]


@JIT
def kernel_squares(n):
    found = set()
    for i in range(n):
        found.add(i * i % 7)
    return len(found)


@JIT
def kernel_checked(x):
    if x < 0:
        raise ValueError("negative")
    return math.sqrt(x)


@JIT
def kernel_numbers(n):
    for i in range(n):
        yield i * i


@PARALLEL
def kernel_parallel_sum(a):
    total = 0.0
    for i in prange(len(a)):
        total += a[i]
    return total


@JIT
def kernel_default(x, y=2.0):
    return x**y


def make_adder(n):
    @JIT
    def kernel_adder(x):
        return x + n

    return kernel_adder


kernel_add_three = make_adder(3)
kernel_add_five = make_adder(5)


@JIT
def kernel_everything(a, b):
    return kernel_norm(a) + kernel_scaled_sum(b) + kernel_add_three(1.0)


def calls():
    """Each function with its arguments, in the order of the file."""
    a = np.linspace(0.0, 1.0, 32)
    b = a[::-1].copy()
    m = np.arange(16.0).reshape(4, 4)
    return [
        (kernel_add, (1, 2.5)), (kernel_scale, (2.0,)), (kernel_scaled_sum, (a,)), (kernel_fibonacci, (10,)),
        (kernel_gcd, (84, 36)), (kernel_is_prime, (97,)), (kernel_count_primes, (100,)), (kernel_dot, (a, b)),
        (kernel_norm, (a,)), (kernel_smooth, (a,)), (kernel_matmul, (m, m)), (kernel_transpose, (m,)),
        (kernel_cumulated, (a,)), (kernel_sorted, (b,)), (kernel_statistics, (a,)), (kernel_where, (a,)),
        (kernel_histogram, (a,)), (kernel_mandelbrot, (0.3 + 0.5j,)), (kernel_steps, (100,)),
        (kernel_words, ("a b c",)), (kernel_upper, ("abc",)), (kernel_counts, (np.arange(10) % 3,)),
        (kernel_evens, (10,)), (kernel_squares, (4,)), (kernel_checked, (2.0,)), (kernel_numbers, (5,)),
        (kernel_parallel_sum, (m.ravel(),)), (kernel_default, (3.0,)), (kernel_add_three, (4,)),
        (kernel_add_five, (4,)), (kernel_everything, (a, b)),
    ]  # fmt: skip
