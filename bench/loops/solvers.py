"""Solvers and optimizers with steps that depend on what was found."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.loops.repeated import repeated


def ode(tf: Any) -> Any:
    """Dormand-Prince with adaptive steps on Van der Pol."""

    def f(t: Any, y: Any) -> Any:
        return tf.stack([y[1], 5.0 * (1.0 - y[0] ** 2) * y[1] - y[0]])

    @tf.function
    def solve(y0: Any, t1: Any, tol: Any) -> Any:
        def cond(t: Any, y: Any, h: Any, n: Any, k1: Any) -> Any:
            return t < t1

        def body(t: Any, y: Any, h: Any, n: Any, k1: Any) -> Any:
            h = tf.minimum(h, t1 - t)
            k2 = f(t + h / 5, y + h * k1 / 5)
            k3 = f(t + 3 * h / 10, y + h * (3 / 40 * k1 + 9 / 40 * k2))
            k4 = f(t + 4 * h / 5, y + h * (44 / 45 * k1 - 56 / 15 * k2 + 32 / 9 * k3))
            k5 = f(
                t + 8 * h / 9,
                y
                + h * (19372 / 6561 * k1 - 25360 / 2187 * k2 + 64448 / 6561 * k3 - 212 / 729 * k4),
            )
            k6 = f(
                t + h,
                y
                + h
                * (
                    9017 / 3168 * k1
                    - 355 / 33 * k2
                    + 46732 / 5247 * k3
                    + 49 / 176 * k4
                    - 5103 / 18656 * k5
                ),
            )
            y1 = y + h * (
                35 / 384 * k1 + 500 / 1113 * k3 + 125 / 192 * k4 - 2187 / 6784 * k5 + 11 / 84 * k6
            )
            k7 = f(t + h, y1)
            err = h * (
                71 / 57600 * k1
                - 71 / 16695 * k3
                + 71 / 1920 * k4
                - 17253 / 339200 * k5
                + 22 / 525 * k6
                - 1 / 40 * k7
            )
            scale = tol + tol * tf.maximum(tf.abs(y), tf.abs(y1))
            e = tf.sqrt(tf.reduce_mean((err / scale) ** 2))
            factor = tf.clip_by_value(0.9 * tf.pow(e + 1e-10, -0.2), 0.2, 5.0)
            t, y, k1 = tf.cond(e < 1.0, lambda: (t + h, y1, k7), lambda: (t, y, k1))
            return t, y, h * factor, n + 1, k1

        out = tf.while_loop(cond, body, (0.0, y0, 0.01, 0, f(0.0, y0)))
        return out[1], out[3]

    return solve, (
        tf.constant([2.0, 0.0], tf.float64) if False else tf.constant([2.0, 0.0]),
        tf.constant(20.0),
        tf.constant(1e-4),
    )


def lbfgs(tf: Any) -> Any:
    """L-BFGS with memory 5 and a backtracking line search on Rosenbrock of 10."""

    def value_and_grad(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
        return y, tape.gradient(y, x)

    m = 5

    @tf.function
    def minimize(x0: Any) -> Any:
        def direction(g: Any, steps: Any, turns: Any, rho: Any) -> Any:
            def back(i: Any, q: Any, al: Any) -> Any:
                j = m - 1 - i
                a = rho[j] * tf.reduce_sum(steps[j] * q)
                return i + 1, q - a * turns[j], tf.tensor_scatter_nd_update(al, [[j]], [a])

            _, q, al = tf.while_loop(lambda i, *_: i < m, back, (0, g, tf.zeros([m])))
            gamma = tf.math.divide_no_nan(
                tf.reduce_sum(steps[-1] * turns[-1]), tf.reduce_sum(turns[-1] * turns[-1])
            )
            q = tf.where(gamma > 0, gamma, 1.0) * q

            def forth(i: Any, r: Any) -> Any:
                b = rho[i] * tf.reduce_sum(turns[i] * r)
                return i + 1, r + steps[i] * (al[i] - b)

            return -tf.while_loop(lambda i, _: i < m, forth, (0, q))[1]

        def body(k: Any, x: Any, y: Any, g: Any, steps: Any, turns: Any, rho: Any) -> Any:
            d = direction(g, steps, turns, rho)
            slope = tf.reduce_sum(d * g)

            def search_cond(t: Any, y1: Any, n: Any) -> Any:
                return tf.logical_and(y1 > y + 1e-4 * t * slope, n < 30)

            def search(t: Any, y1: Any, n: Any) -> Any:
                t = 0.5 * t
                return t, value_and_grad(x + t * d)[0], n + 1

            t0 = tf.constant(1.0)
            t, _, _ = tf.while_loop(search_cond, search, (t0, value_and_grad(x + t0 * d)[0], 0))
            x1 = x + t * d
            y1, g1 = value_and_grad(x1)
            s, dy = x1 - x, g1 - g
            sy = tf.reduce_sum(s * dy)

            def push() -> Any:
                return (
                    tf.concat([steps[1:], s[None]], 0),
                    tf.concat([turns[1:], dy[None]], 0),
                    tf.concat([rho[1:], [1.0 / sy]], 0),
                )

            steps, turns, rho = tf.cond(sy > 1e-10, push, lambda: (steps, turns, rho))
            return k + 1, x1, y1, g1, steps, turns, rho

        def cond(k: Any, x: Any, y: Any, g: Any, *_: Any) -> Any:
            return tf.logical_and(k < 60, tf.norm(g) > 1e-3)

        y0, g0 = value_and_grad(x0)
        out = tf.while_loop(
            cond, body, (0, x0, y0, g0, tf.zeros([m, 10]), tf.zeros([m, 10]), tf.zeros([m]))
        )
        return out[0], out[1], out[2]

    return minimize, (tf.constant(np.full(10, -0.5, "f4")),)


def nelder_mead(tf: Any) -> Any:
    """Nelder-Mead on a quadratic in 4 dimensions, nested conds."""

    def f(x: Any) -> Any:
        return tf.reduce_sum(tf.constant([1.0, 3.0, 10.0, 0.5]) * (x - 1.0) ** 2)

    @tf.function
    def minimize(x0: Any) -> Any:
        simplex = tf.concat([x0[None], x0 + 0.5 * tf.eye(4)], 0)
        values = tf.map_fn(f, simplex)

        def body(k: Any, s: Any, v: Any) -> Any:
            order = tf.argsort(v)
            s, v = tf.gather(s, order), tf.gather(v, order)
            c = tf.reduce_mean(s[:-1], 0)
            xr = c + (c - s[-1])
            fr = f(xr)

            def replace(x: Any, y: Any) -> Any:
                return tf.concat([s[:-1], x[None]], 0), tf.concat([v[:-1], y[None]], 0)

            def expand() -> Any:
                xe = c + 2.0 * (c - s[-1])
                fe = f(xe)
                return tf.cond(fe < fr, lambda: replace(xe, fe), lambda: replace(xr, fr))

            def shrink() -> Any:
                t = s[0] + 0.5 * (s - s[0])
                return t, tf.map_fn(f, t)

            def contract() -> Any:
                inside = fr >= v[-1]
                xc = tf.where(inside, c + 0.5 * (s[-1] - c), c + 0.5 * (xr - c))
                fc = f(xc)
                return tf.cond(fc < tf.minimum(fr, v[-1]), lambda: replace(xc, fc), shrink)

            s, v = tf.cond(
                fr < v[0], expand, lambda: tf.cond(fr < v[-2], lambda: replace(xr, fr), contract)
            )
            return k + 1, s, v

        out = tf.while_loop(
            lambda k, s, v: tf.logical_and(k < 200, tf.math.reduce_std(v) > 1e-6),
            body,
            (0, simplex, values),
        )
        return out[0], tf.reduce_min(out[2])

    return minimize, (tf.constant([0.0, 2.0, -1.0, 3.0]),)


def gp(tf: Any) -> Any:
    """GP regression: Adam on hyperparameters, 20 points, loop in the graph."""
    rng = np.random.default_rng(4)
    x = rng.uniform(-2, 2, 20).astype("f4")
    y = np.sin(3 * x).astype("f4") + 0.1 * rng.normal(size=20).astype("f4")

    def nll(theta: Any, x: Any, y: Any) -> Any:
        amp, length, noise = tf.unstack(tf.exp(theta))
        d = x[:, None] - x[None, :]
        kernel = amp * tf.exp(-0.5 * (d / length) ** 2) + (noise + 1e-4) * tf.eye(20)
        factor = tf.linalg.cholesky(kernel)
        a = tf.linalg.cholesky_solve(factor, y[:, None])[:, 0]
        return 0.5 * tf.reduce_sum(a * y) + tf.reduce_sum(tf.math.log(tf.linalg.diag_part(factor)))

    @tf.function
    def fit(theta: Any, x: Any, y: Any) -> Any:
        def body(i: Any, theta: Any, m: Any, v: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(theta)
                loss = nll(theta, x, y)
            g = tape.gradient(loss, theta)
            t = tf.cast(i + 1, tf.float32)
            m = 0.9 * m + 0.1 * g
            v = 0.999 * v + 0.001 * g * g
            theta = theta - 0.05 * (m / (1 - 0.9**t)) / (tf.sqrt(v / (1 - 0.999**t)) + 1e-8)
            return i + 1, theta, m, v

        return tf.while_loop(lambda i, *_: i < 50, body, (0, theta, tf.zeros([3]), tf.zeros([3])))[
            1
        ]

    return fit, (tf.constant([0.0, 0.0, -2.0]), tf.constant(x), tf.constant(y))


def eigh3(tf: Any) -> Any:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(3, 3)).astype("f4")
    a = a + a.T

    @tf.function
    def run(a: Any) -> Any:
        def body(i: Any, a: Any, acc: Any) -> Any:
            w, v = tf.linalg.eigh(a)
            return v @ tf.linalg.diag(tf.tanh(w)) @ tf.transpose(v) + 0.1 * a, acc + tf.reduce_sum(
                tf.abs(w)
            )

        return repeated(tf, 50, body, a, tf.constant(0.0))

    return run, (tf.constant(a),)
